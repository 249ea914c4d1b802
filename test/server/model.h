// Model: makes up requests and says, byte for byte, what each must be answered, for tests that send
// so much at once that nobody can write it down. It knows one client and what a key space is: a
// map.
//
// Two kinds of keys: texts, which no request can count up, and numbers, whose digits never get
// fewer here (what happens to the freed bytes then is told by test/transcripts/arithmetic).
//
// Owner: the test. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>

namespace server_test {

struct Exchange {
  std::string request;
  std::string answer;  // Empty: none is to come.
};

class Model {
 public:
  // flushes: whether flush_all is among the requests.
  Model(std::uint64_t seed, bool flushes) : random_(seed), flushes_(flushes) {}

  Exchange Next();

 private:
  struct Item {
    std::string value;
    std::uint32_t flags = 0;
  };

  Exchange Store();
  Exchange StoreNumber();
  Exchange Concatenate();
  Exchange CompareAndSwap();
  Exchange Get();
  Exchange GetAndTouch();
  Exchange Count();
  Exchange CountText();
  Exchange Touch();
  Exchange Delete();
  Exchange FlushAll();
  Exchange Expire();
  Exchange Nonsense();
  Exchange BadStore();

  // -- Dice.
  std::uint64_t Below(std::uint64_t limit);
  bool OneIn(std::uint64_t count) { return Below(count) == 0; }
  std::string TextKey();
  std::string NumberKey();
  std::string AnyKey();
  std::string Text();

  [[nodiscard]] std::string Values(const std::string& keys) const;
  // The answer, or none with noreply; both are equally fine for any request that changes something.
  Exchange MaybeQuiet(const std::string& line, const std::string& data, const std::string& answer);

  std::mt19937_64 random_;
  bool flushes_;
  std::map<std::string, Item> items_;
};

}  // namespace server_test
