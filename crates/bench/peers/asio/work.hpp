// What the workloads have in common, as in src/{spin,tally,random,rounds}.rs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

using Clock = std::chrono::steady_clock;

// Five cycles a step: a shift, an exclusive or and a multiplication that wait for
// each other. Each call begins with what the last one of the thread computed.
inline thread_local std::uint64_t last = 1;

__attribute__((noinline)) inline void spin(std::uint32_t cycles) {
    std::uint64_t value = last;
    for (std::uint32_t step = 0; step < cycles / 5; ++step) {
        value = (value ^ (value >> 29)) * 6364136223846793005u;
    }
    asm volatile("" : "+r"(value));
    last = value;
}

// How many cycles `spin` does in a second, from the fastest of a few tries.
inline double cycles_per_second() {
    constexpr std::uint32_t cycles = 1000000;
    double best = 1e9;
    for (int attempt = 0; attempt < 20; ++attempt) {
        auto start = Clock::now();
        spin(cycles);
        std::chrono::duration<double> took = Clock::now() - start;
        best = std::min(best, took.count());
    }
    return cycles / best;
}

// A slot for each thread counts events; whoever wants the total adds them up.
class Tally {
public:
    static void count() {
        thread_local std::atomic<std::uint64_t>& slot = slots()[taken()++ % max].count;
        // Only this thread writes it.
        slot.store(slot.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

    static std::uint64_t total() {
        std::uint64_t sum = 0;
        auto used = std::min<std::size_t>(taken().load(), max);
        for (std::size_t at = 0; at < used; ++at) {
            sum += slots()[at].count.load(std::memory_order_acquire);
        }
        return sum;
    }

private:
    static constexpr std::size_t max = 1024;
    // Two cache lines: processors fetch them in pairs.
    struct alignas(128) Slot {
        std::atomic<std::uint64_t> count{0};
    };
    static Slot* slots() {
        static Slot all[max];
        return all;
    }
    static std::atomic<std::size_t>& taken() {
        static std::atomic<std::size_t> next{0};
        return next;
    }
};

inline void event(std::uint32_t cycles) {
    spin(cycles);
    Tally::count();
}

// Marsaglia's xorshift.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_((seed + 1) * 0x9e3779b97f4a7c15u | 1) {}

    std::uint32_t below(std::uint32_t limit) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::uint32_t>(((state_ >> 32) * limit) >> 32);
    }

private:
    std::uint64_t state_;
};

struct Outcome {
    std::uint64_t events;
    Clock::duration time;
};

// When to begin to measure, and when to end: a fifth of the time comes before it.
class Rounds {
public:
    explicit Rounds(Clock::duration time) : time_(time), since_(Clock::now()) {}

    // A round of so many events has ended: whether another one shall begin.
    bool another(std::uint64_t events) {
        auto elapsed = Clock::now() - since_;
        if (!warm_) {
            if (elapsed >= time_ / 5) {
                warm_ = true;
                since_ = Clock::now();
            }
            return true;
        }
        events_ += events;
        if (elapsed < time_) {
            return true;
        }
        outcome_.set_value({events_, elapsed});
        return false;
    }

    Outcome wait() { return outcome_.get_future().get(); }

private:
    Clock::duration time_;
    Clock::time_point since_;
    bool warm_ = false;
    std::uint64_t events_ = 0;
    std::promise<Outcome> outcome_;
};

// Measures a workload that goes on by itself; longer, if its threads had no core yet on a
// busy machine.
inline Outcome measure_steady(Clock::duration time) {
    constexpr int patience = 10000;
    std::this_thread::sleep_for(time / 5);
    auto start = Clock::now();
    auto before = Tally::total();
    std::uint64_t events = 0;
    for (int waits = 0; waits < patience && events == 0; ++waits) {
        std::this_thread::sleep_for(time);
        events = Tally::total() - before;
    }
    return {events, Clock::now() - start};
}
