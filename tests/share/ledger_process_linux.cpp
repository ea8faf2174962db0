// The ledger's file under real processes: sudden death, forks, stopped processes, recycled numbers, strangers (I8).
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/share/ledger_layout.h"
#include "tests/support/temp_folder.h"

namespace tidegate::share {
namespace {

constexpr Bytes kCard = 16 * kGiB;
constexpr const char* kUuid = "GPU-5d8f0000-0000-4000-8000-000000000001";

// A child process of the test; what it does runs after it was forked.
class Child {
 public:
  template <typename Work>
  explicit Child(Work work) {
    EXPECT_EQ(::pipe(ready_), 0);
    pid_ = ::fork();
    if (pid_ != 0) {
      ::close(ready_[1]);
      return;
    }
    const int code = work([this] { (void)!::write(ready_[1], "r", 1); });
    ::_exit(code);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) kill_now();
    ::close(ready_[0]);
  }

  int pid() const { return pid_; }
  bool wait_ready() {
    char byte = 0;
    return ::read(ready_[0], &byte, 1) == 1;
  }
  void kill_now() {
    ::kill(pid_, SIGKILL);
    join();
  }
  int join() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  int ready_[2]{};
  int pid_ = 0;
};

int forever() {
  for (;;) ::pause();
}

class LedgerProcess : public ::testing::Test {
 protected:
  LedgerProcess() {
    ::setenv(kLedgerFolderVariable, folder_.path("book").c_str(), 1);
    ledger_ = open();
  }
  static std::shared_ptr<Ledger> open() {
    auto ledger = Ledger::open(kUuid, kCard);
    if (!ledger) ADD_FAILURE() << ledger.error().message;
    return ledger ? ledger.value() : nullptr;
  }
  test::TempFolder folder_;
  std::shared_ptr<Ledger> ledger_;
};

TEST_F(LedgerProcess, I8_KilledAtRandomPointsWithinOperations) {
  auto mine = ledger_->take_seat("survivor");
  ASSERT_TRUE(mine.ok());
  ASSERT_TRUE((*mine)->charge(Term::kResident, 3 * kGiB));
  const SeatState before = (*mine)->state();
  const int points = std::getenv("TIDEGATE_NIGHTLY") != nullptr ? 2000 : 200;
  for (int point = 0; point < points; ++point) {
    std::mt19937_64 random(static_cast<std::uint64_t>(point));
    Child child([&](auto ready) {
      // Sitting down and getting up too; a change is all that it does.
      for (std::uint64_t round = 0;; ++round) {
        auto seat = ledger_->take_seat("doomed");
        if (!seat) return 3;
        if (round == 0) ready();
        for (int i = 0; i < 20; ++i) {
          (void)(*seat)->ask(Term::kPromised, kGiB, [](const LedgerView& view) { return view.seats.size() < 3; });
          (void)(*seat)->move(Term::kPromised, Term::kUntouched, kMiB);
          (void)(*seat)->charge(Term::kResident, (random() % 4) * kMiB);
        }
      }
    });
    ASSERT_TRUE(child.wait_ready()) << "point " << point;
    // How far the child gets meanwhile is the random point.
    for (std::uint64_t looks = random() % 200; looks > 0; --looks) (void)ledger_->look();
    child.kill_now();
    const LedgerView view = ledger_->look();
    ASSERT_EQ(view.seats.size(), 1u) << "point " << point;
    ASSERT_EQ(view.seats[0].state, before) << "point " << point;
    ASSERT_TRUE(view.unbelievable.empty()) << "point " << point;
    // No lock is left: the row can be had, the survivor can change its own.
    Child next([&](auto) { return ledger_->take_seat("next").ok() ? 0 : 1; });
    ASSERT_EQ(next.join(), 0) << "point " << point;
    ASSERT_TRUE((*mine)->charge(Term::kPromised, kMiB));
    ASSERT_TRUE((*mine)->discharge(Term::kPromised, kMiB));
  }
}

TEST_F(LedgerProcess, AForkedChildHasNoSeatUntilItTakesItsOwn) {
  auto seat = ledger_->take_seat("parent");
  ASSERT_TRUE(seat.ok());
  ASSERT_TRUE((*seat)->charge(Term::kResident, kGiB));
  Child child([&](auto) {
    if ((*seat)->charge(Term::kResident, kGiB).ok()) return 1;
    auto own = ledger_->take_seat("child");
    if (!own || (*own)->row() == (*seat)->row()) return 2;
    if (!(*own)->charge(Term::kResident, 2 * kGiB)) return 3;
    (*seat).reset();  // the child's copy of the parent's seat: nothing happens to the parent's row
    return ledger_->look().seats.size() == 2 ? 0 : 4;
  });
  EXPECT_EQ(child.join(), 0);
  const LedgerView view = ledger_->look();
  ASSERT_EQ(view.seats.size(), 1u);
  EXPECT_EQ(view.seats[0].state.held(), kGiB);
}

TEST_F(LedgerProcess, AStoppedProcessKeepsItsBytesAndStopsNobody) {
  Child child([&](auto ready) {
    auto seat = ledger_->take_seat("stopped");
    if (!seat || !(*seat)->charge(Term::kResident, 5 * kGiB)) return 1;
    ready();
    for (;;) (void)(*seat)->charge(Term::kResident, 0);
  });
  ASSERT_TRUE(child.wait_ready());
  ::kill(child.pid(), SIGSTOP);
  int status = 0;
  ASSERT_EQ(::waitpid(child.pid(), &status, WUNTRACED), child.pid());
  auto mine = ledger_->take_seat("other");
  ASSERT_TRUE(mine.ok());
  const auto granted = (*mine)->ask(Term::kPromised, kGiB, [](const LedgerView& view) {
    return view.seats.size() == 2 && view.seats[0].state.held() == 5 * kGiB;
  });
  EXPECT_TRUE(granted.ok() && granted.value());
}

TEST_F(LedgerProcess, ARecycledNumberIsNotTheDeadProcess) {
  // A row that names a living process (the test itself) as its tenant, while the tenant is dead.
  Child child([&](auto) {
    auto seat = ledger_->take_seat("dead");
    if (!seat || !(*seat)->charge(Term::kResident, kGiB)) return 1;
    ::raise(SIGKILL);
    return 2;
  });
  EXPECT_EQ(child.join(), 128 + SIGKILL);
  auto file = base::SharedFile::open(folder_.path("book"), kUuid, Ledger::bytes_needed(), [](auto) {});
  ASSERT_TRUE(file.ok());
  LedgerRow& row = reinterpret_cast<LedgerLayout*>((*file)->bytes().data())->rows[0];
  ASSERT_EQ(row.in_use, 1u);
  row.pid = static_cast<std::uint64_t>(::getpid());
  EXPECT_TRUE(ledger_->look().seats.empty());
  EXPECT_TRUE(ledger_->take_seat("living").ok());
}

TEST_F(LedgerProcess, DeathIsSeenAcrossPidNamespaces) {
  Child child([&](auto ready) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return 77;
    const pid_t inner = ::fork();
    if (inner == 0) {
      auto seat = ledger_->take_seat("inside");
      if (!seat || !(*seat)->charge(Term::kResident, kGiB)) ::_exit(1);
      ready();
      forever();
    }
    int status = 0;
    ::waitpid(inner, &status, 0);
    return 0;
  });
  if (!child.wait_ready()) GTEST_SKIP() << "no user namespaces here (exit code " << child.join() << ")";
  LedgerView view = ledger_->look();
  ASSERT_EQ(view.seats.size(), 1u);
  EXPECT_EQ(view.seats[0].process.pid, 1u);  // in its own namespace: no number of ours
  // The first process of a namespace ends with a signal from outside only; it is the child's only descendant.
  std::string inner;
  std::getline(
      std::ifstream("/proc/" + std::to_string(child.pid()) + "/task/" + std::to_string(child.pid()) + "/children"),
      inner);
  ASSERT_GT(std::atoi(inner.c_str()), 1);
  ::kill(std::atoi(inner.c_str()), SIGKILL);
  child.join();
  EXPECT_TRUE(ledger_->look().seats.empty());
}

TEST_F(LedgerProcess, ManyProcessesMakeOneLedger) {
  ::setenv(kLedgerFolderVariable, folder_.path("new").c_str(), 1);
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(std::make_unique<Child>([](auto ready) {
      auto ledger = Ledger::open(kUuid, kCard);
      if (!ledger) return 1;
      auto seat = (*ledger)->take_seat("one of many");
      if (!seat) return 2;
      ready();
      return forever();
    }));
  }
  for (auto& child : children) ASSERT_TRUE(child->wait_ready());
  EXPECT_EQ(open()->look().seats.size(), 8u);
}

TEST_F(LedgerProcess, OnlyTheSameUsersPrivateFilesAreOpened) {
  const auto fault = [](const std::string& folder) {
    ::setenv(kLedgerFolderVariable, folder.c_str(), 1);
    auto ledger = Ledger::open(kUuid, kCard);
    return ledger ? Errc::kClosed : ledger.error().code;
  };
  ASSERT_EQ(::mkdir(folder_.path("open").c_str(), 0700), 0);
  ASSERT_EQ(::chmod(folder_.path("open").c_str(), 0755), 0);
  EXPECT_EQ(fault(folder_.path("open")), Errc::kInvalidArgument);
  std::filesystem::create_symlink(folder_.path("book"), folder_.path("link"));
  EXPECT_NE(fault(folder_.path("link")), Errc::kClosed);
  EXPECT_EQ(fault(folder_.path("no/such")), Errc::kIo);

  const std::string file = folder_.path("book") + "/" + kUuid;
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0600));
  if (::geteuid() == 0) {
    Child stranger([&](auto) {
      // Where root may not even look, nothing is shown either; give the way in to see the file's own refusal.
      ::chmod(folder_.path().c_str(), 0755);
      if (::seteuid(12345) != 0) return 2;
      return fault(folder_.path("book")) == Errc::kClosed ? 1 : 0;
    });
    EXPECT_EQ(stranger.join(), 0);
  }
  // Content of another size, and content that is none.
  ASSERT_EQ(::mkdir(folder_.path("bad").c_str(), 0700), 0);
  std::ofstream(folder_.path("bad") + "/" + kUuid) << "short";
  ::chmod((folder_.path("bad") + "/" + kUuid).c_str(), 0600);
  EXPECT_EQ(fault(folder_.path("bad")), Errc::kBadFile);
  EXPECT_EQ(Ledger::open("../escape", kCard).error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace tidegate::share
