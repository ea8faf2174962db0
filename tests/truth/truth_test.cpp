// Which sensor is believed: pure cases with sensors that say what the test wants.
#include "src/share/truth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tidegate::share {
namespace {

using testing::HasSubstr;

// Says what it is told.
class Told final : public Sensor {
 public:
  Told(const char* name, Scope scope, bool assumed = false) : name_(name), last_(false) {
    says.scope = scope;
    says.assumed = assumed;
    says.why = "told";
    says.total = 16 * kGiB;
  }
  const char* name() const override { return name_; }
  bool last_resort() const override { return last_; }
  Result<Reading> read() override {
    ++reads;
    if (fault) return *fault;
    return says;
  }
  Told& as_last_resort() {
    last_ = true;
    return *this;
  }

  Reading says;
  std::optional<Error> fault;
  int reads = 0;

 private:
  const char* name_;
  bool last_;
};

class TruthTest : public testing::Test {
 protected:
  Told& add(const char* name, Scope scope, Bytes free, bool assumed = false) {
    auto made = std::make_unique<Told>(name, scope, assumed);
    made->says.free = free;
    Told& told = *made;
    sensors_.push_back(std::move(made));
    return told;
  }
  Decision look(Books books = {}, base::Nanos now = 0) {
    if (!truth_) {
      options_.on_change = [this](const Change& change) { changes_.push_back(change); };
      options_.card_total = 16 * kGiB;
      truth_ = std::make_unique<Truth>(std::move(sensors_), options_);
    }
    auto decision = truth_->look(books, now);
    EXPECT_TRUE(decision) << decision.error().message;
    return std::move(decision).value();
  }
  static Standing standing(const Decision& decision, const std::string& name) {
    for (const SensorState& state : decision.sensors) {
      if (state.name == name) return state.standing;
    }
    return Standing::kMissing;
  }

  std::vector<std::unique_ptr<Sensor>> sensors_;
  TruthOptions options_;
  std::unique_ptr<Truth> truth_;
  std::vector<Change> changes_;
};

// I6: the lower one, and the line says by how much.
TEST_F(TruthTest, TheLowerOfTwoPrevailsAndSaysByHowMuch) {
  add("NVML", Scope::kDevice, 9 * kGiB);
  add("D3DKMT", Scope::kDevice, 8 * kGiB);
  add("DXGI", Scope::kProcess, 15 * kGiB);
  const Decision decision = look();
  EXPECT_EQ(decision.free.bytes, 8 * kGiB);
  EXPECT_STREQ(decision.prevailed, "D3DKMT");
  EXPECT_EQ(decision.below_next, kGiB);
  EXPECT_EQ(decision.bias, static_cast<std::int64_t>(7 * kGiB));
  EXPECT_EQ(decision.line, "D3DKMT prevails: 8192 MiB free, 1024 MiB below the next; DXGI sees 15360 MiB, +7168 MiB");
}

// I5: a blind reading is converted once, by the one function; a device-wide one never, whatever others have booked.
TEST_F(TruthTest, OnlyABlindReadingIsCorrected) {
  Told& nvml = add("NVML", Scope::kDevice, 5 * kGiB);
  add("cuMemGetInfo", Scope::kProcess, 15 * kGiB);
  EXPECT_EQ(look({.own = 0, .others = 6 * kGiB}).free.bytes, 5 * kGiB);
  nvml.fault = Error{Errc::kDriver, "NVML: lost"};
  const Decision blind = look({.own = 0, .others = 6 * kGiB});
  EXPECT_EQ(blind.free.bytes, 9 * kGiB);
  EXPECT_THAT(blind.line, HasSubstr("less 6144 MiB that other seats have booked"));
  EXPECT_EQ(device_free_from({4 * kGiB}, 6 * kGiB).free.bytes, 0u);
}

TEST_F(TruthTest, MissingFailingAndAbsurdSensorsAreRankedDown) {
  add("NVML", Scope::kDevice, kGiB).fault = Error{Errc::kNotFound, "NVML: not here"};
  add("D3DKMT", Scope::kDevice, kGiB).fault = Error{Errc::kDriver, "D3DKMT: no"};
  add("nvidia-smi", Scope::kDevice, 17 * kGiB);  // of 16
  add("cuMemGetInfo", Scope::kDevice, 3 * kGiB).says.total = 80 * kGiB;
  add("MemAvailable", Scope::kDevice, 2 * kGiB);
  const Decision decision = look();
  EXPECT_STREQ(decision.prevailed, "MemAvailable");
  EXPECT_EQ(standing(decision, "NVML"), Standing::kMissing);
  EXPECT_EQ(standing(decision, "D3DKMT"), Standing::kFailing);
  EXPECT_EQ(standing(decision, "nvidia-smi"), Standing::kAbsurd);
  EXPECT_EQ(standing(decision, "cuMemGetInfo"), Standing::kAbsurd);
}

TEST_F(TruthTest, AFrozenSensorIsRankedDownUntilItMoves) {
  Told& frozen = add("NVML", Scope::kDevice, 4 * kGiB);
  Told& alive = add("D3DKMT", Scope::kDevice, 12 * kGiB);
  EXPECT_STREQ(look().prevailed, "NVML");
  for (int i = 0; i < 3; ++i) {
    alive.says.free -= 256 * kMiB;
    (void)look();
  }
  const Decision decision = look();
  EXPECT_EQ(standing(decision, "NVML"), Standing::kFrozen);
  EXPECT_STREQ(decision.prevailed, "D3DKMT");
  frozen.says.free -= kMiB;
  EXPECT_STREQ(look().prevailed, "NVML");
}

TEST_F(TruthTest, AReadingThatIgnoresOurOwnBytesIsFrozen) {
  add("NVML", Scope::kDevice, 12 * kGiB);
  Told& blind = add("cuMemGetInfo", Scope::kProcess, 11 * kGiB);
  (void)look({.own = kGiB});
  blind.says.free -= kGiB;
  EXPECT_STREQ(look({.own = 2 * kGiB}).prevailed, "cuMemGetInfo");
}

TEST_F(TruthTest, AFailedSensorIsAskedAgainEverLater) {
  Told& nvml = add("NVML", Scope::kDevice, kGiB);
  add("D3DKMT", Scope::kDevice, 2 * kGiB);
  nvml.fault = Error{Errc::kDriver, "NVML: lost"};
  for (base::Nanos now = 0; now < 10 * base::kSecond; now += 20 * base::kMillisecond) (void)look({}, now);
  EXPECT_EQ(nvml.reads, 4);  // at 0, 1, 3 and 7 seconds
  nvml.fault.reset();
  EXPECT_STREQ(look({}, 20 * base::kSecond).prevailed, "NVML");
}

TEST_F(TruthTest, TheLastResortIsAskedOnlyWhereNoOtherKnows) {
  Told& nvml = add("NVML", Scope::kDevice, 5 * kGiB);
  Told& smi = add("nvidia-smi", Scope::kDevice, 4 * kGiB).as_last_resort();
  add("cuMemGetInfo", Scope::kProcess, 15 * kGiB);
  EXPECT_STREQ(look().prevailed, "NVML");
  EXPECT_EQ(smi.reads, 0);
  nvml.fault = Error{Errc::kDriver, "NVML: lost"};
  EXPECT_STREQ(look().prevailed, "nvidia-smi");
  EXPECT_EQ(smi.reads, 1);
}

TEST_F(TruthTest, NoSensorAtAllIsAnErrorThatNamesEach) {
  add("NVML", Scope::kDevice, 0).fault = Error{Errc::kNotFound, "NVML: not here"};
  Truth truth(std::move(sensors_), {});
  const auto decision = truth.look({}, 0);
  ASSERT_FALSE(decision);
  EXPECT_THAT(decision.error().message, HasSubstr("NVML: not here"));
}

// Blindness: assumed by platform, corrected by what is seen.
TEST_F(TruthTest, AWrongPriorIsOverturnedByWhatOthersDo) {
  Told& nvml = add("NVML", Scope::kDevice, 12 * kGiB);
  Told& driver = add("cuMemGetInfo", Scope::kDevice, 14 * kGiB, true);
  (void)look();
  std::vector<Scope> scopes;
  for (int i = 0; i < 4; ++i) {
    nvml.says.free -= kGiB;  // others; cuMemGetInfo does not move
    scopes.push_back(look().sensors[1].scope);
  }
  EXPECT_EQ(scopes, (std::vector{Scope::kDevice, Scope::kUnknown, Scope::kProcess, Scope::kProcess}));
  driver.says.free -= kGiB;
}

TEST_F(TruthTest, SeatsBooksTeachWhereNoSensorIsDeviceWide) {
  Told& driver = add("cuMemGetInfo", Scope::kProcess, 14 * kGiB, true);
  options_.prior = {Scope::kProcess, "WSL"};
  Books books;
  Scope scope = Scope::kProcess;
  (void)look(books);
  for (int i = 0; i < 4; ++i) {
    books.others += kGiB;
    driver.says.free -= kGiB;  // it sees them after all
    scope = look(books).sensors[0].scope;
  }
  EXPECT_EQ(scope, Scope::kDevice);
  EXPECT_EQ(look(books).free.bytes, driver.says.free) << "corrected twice";
}

TEST_F(TruthTest, DriftTeachesNothing) {
  Blindness blindness({Scope::kProcess, "WDDM"});
  for (int i = 0; i < 100; ++i) blindness.observe({.fell = 80 * 1024 * 1024, .own = 0, .others = 80 * 1024 * 1024});
  EXPECT_EQ(blindness.scope(), Scope::kProcess);
}

// GT-7: the blind reading jumps without a cause of ours. Decisions in flight look at generation().
TEST_F(TruthTest, ARepartitionIsReportedAndOwnAllocationsAreNot) {
  Told& nvml = add("NVML", Scope::kDevice, 8'500 * kMiB);
  Told& driver = add("cuMemGetInfo", Scope::kProcess, 15'221 * kMiB, true);
  options_.prior = {Scope::kProcess, "WDDM"};
  (void)look();
  const std::uint64_t before = truth_->generation();
  driver.says.free -= kGiB;
  nvml.says.free -= kGiB;
  (void)look({.own = kGiB});
  EXPECT_EQ(truth_->generation(), before);
  EXPECT_TRUE(changes_.empty());
  driver.says.free = nvml.says.free + 533 * kMiB;
  (void)look({.own = kGiB});
  EXPECT_EQ(truth_->generation(), before + 1);
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_EQ(changes_[0].kind, Change::Kind::kRepartition);
  EXPECT_EQ(changes_[0].by, -static_cast<std::int64_t>((15'221 - 8'500 - 533) * kMiB));
  EXPECT_EQ(changes_[0].bias_after, static_cast<std::int64_t>(533 * kMiB));
}

TEST_F(TruthTest, AForeignStepIsReportedAndASeatsGrowthIsNot) {
  Told& nvml = add("NVML", Scope::kDevice, 12 * kGiB);
  nvml.says.reserved = 256 * kMiB;
  EXPECT_EQ(look({.own = kGiB, .others = kGiB}).foreign, 2 * kGiB - 256 * kMiB);
  nvml.says.free -= kGiB;
  (void)look({.own = kGiB, .others = 2 * kGiB});
  EXPECT_TRUE(changes_.empty());
  nvml.says.free -= kGiB;
  (void)look({.own = kGiB, .others = 2 * kGiB});
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_EQ(changes_[0].kind, Change::Kind::kForeignStep);
  EXPECT_EQ(changes_[0].by, static_cast<std::int64_t>(kGiB));
  EXPECT_EQ(truth_->generation(), 1u);
}

TEST(BlindnessPrior, FollowsPlatformAndDriverModel) {
  EXPECT_EQ(blindness_prior(false, false, "6.1.0-13-amd64").scope, Scope::kDevice);
  EXPECT_EQ(blindness_prior(true, false, "6.1.0-13-amd64").scope, Scope::kProcess);
  EXPECT_EQ(blindness_prior(false, false, "5.15.90.1-microsoft-standard-WSL2").scope, Scope::kProcess);
  EXPECT_EQ(blindness_prior(false, false, "Windows").scope, Scope::kProcess);
  EXPECT_EQ(blindness_prior(false, true, "Windows").scope, Scope::kDevice);
}

}  // namespace
}  // namespace tidegate::share
