/* Stands for a driver's library that is newer than our list of names. */
int cuFromTheFuture(void) { return 0; }
int cuFromLater(void) { return 0; }
