// The peer reads the clock of the wall to decide how often to look at the card; on a simulated card, whose time is
// another, it is given the card's. card_clock_linux.cpp, card_clock_windows.cpp.
#pragma once

#include <string>

namespace tidegate::trial {

// To be called once the peer's library is open, with the name it was opened by.
void give_card_clock(const std::string& library);
// From now on what the peer reads is the card's time of now. Nothing on a real card, and where keep_wall_clock is set.
void set_card_clock();
inline bool keep_wall_clock = false;
// The simulated card's time in seconds; negative on a real card.
double card_seconds();

}  // namespace tidegate::trial
