// The workloads of src/workloads on Boost.Asio: a thread pool, and a strand a key.
//
// Where a post is the last thing that a handler does it is `asio::defer`, which Asio
// has for continuations: it is as fast as `asio::post` in P and faster in X.
#pragma once

#include <atomic>
#include <deque>
#include <vector>

#include <boost/asio.hpp>

#include "work.hpp"

namespace asio = boost::asio;
using Pool = asio::thread_pool;
using Strand = asio::strand<Pool::executor_type>;

// U: rounds of independent events, few of them long. Each is posted to the pool.
class Unbalanced {
public:
    static constexpr std::uint32_t events = 50000;

    static std::vector<std::uint32_t> costs() {
        Random random(1);
        std::vector<std::uint32_t> costs(events);
        for (auto& cost : costs) {
            cost = random.below(100) < 98 ? 100 : 10000 + random.below(40001);
        }
        return costs;
    }

    Unbalanced(Pool& pool, Rounds& rounds) : pool_(pool), rounds_(rounds), costs_(costs()) {}

    void begin() {
        goal_ = Tally::total() + events;
        for (auto cycles : costs_) {
            asio::post(pool_, [cycles] { event(cycles); });
        }
        asio::post(pool_, [this] { wait(); });
    }

private:
    void wait() {
        if (Tally::total() < goal_) {
            asio::post(pool_, [this] { wait(); });
        } else if (rounds_.another(events)) {
            begin();
        }
    }

    Pool& pool_;
    Rounds& rounds_;
    std::vector<std::uint32_t> costs_;
    std::uint64_t goal_ = 0;
};

// Uk: the same rounds, but each event goes to the strand of a session.
class KeyedRounds {
public:
    KeyedRounds(Pool& pool, Rounds& rounds)
        : pool_(pool), rounds_(rounds), costs_(Unbalanced::costs()) {
        for (auto cycles : costs_) {
            (void)cycles;
            sessions_.emplace_back(pool.get_executor());
        }
    }

    void begin() {
        goal_ = Tally::total() + Unbalanced::events;
        for (std::size_t at = 0; at < costs_.size(); ++at) {
            auto& session = sessions_[at];
            auto cycles = costs_[at];
            asio::post(session.strand, [&session, cycles] {
                ++session.events;
                event(cycles);
            });
        }
        asio::post(pool_, [this] { wait(); });
    }

private:
    struct Session {
        explicit Session(Pool::executor_type executor) : strand(executor) {}
        Strand strand;
        std::uint64_t events = 0;
    };

    void wait() {
        if (Tally::total() < goal_) {
            asio::post(pool_, [this] { wait(); });
        } else if (rounds_.another(Unbalanced::events)) {
            begin();
        }
    }

    Pool& pool_;
    Rounds& rounds_;
    std::vector<std::uint32_t> costs_;
    std::deque<Session> sessions_;
    std::uint64_t goal_ = 0;
};

// P and Py: 1000 keys, each posting 1000 events to itself. A strand goes behind the
// others after what was posted to it before it began: with one event at a time that
// is after each, so the two are the same.
class Chains {
public:
    static constexpr int keys = 1000;
    static constexpr std::uint32_t events_per_key = 1000;

    Chains(Pool& pool, Rounds& rounds) : rounds_(rounds) {
        for (int key = 0; key < keys; ++key) {
            links_.emplace_back(pool.get_executor(), *this);
        }
    }

    void begin() {
        going_.store(keys, std::memory_order_relaxed);
        for (auto& link : links_) {
            asio::post(link.strand, [&link] { link.step(events_per_key); });
        }
    }

private:
    struct Link {
        Link(Pool::executor_type executor, Chains& all) : strand(executor), chains(all) {}

        void step(std::uint32_t left) {
            if (left > 1) {
                asio::defer(strand, [this, left] { step(left - 1); });
            } else if (chains.ended()) {
                chains.begin();
            }
        }

        Strand strand;
        Chains& chains;
    };

    bool ended() {
        return going_.fetch_sub(1, std::memory_order_acq_rel) == 1 &&
               rounds_.another(std::uint64_t(keys) * events_per_key);
    }

    Rounds& rounds_;
    std::deque<Link> links_;
    std::atomic<int> going_{0};
};

// X: 1000 keys posting to random others, 8000 events in flight.
class Cross {
public:
    static constexpr std::uint32_t keys = 1000;
    static constexpr std::uint32_t in_flight = 8000;

    explicit Cross(Pool& pool) {
        for (std::uint32_t own = 0; own < keys; ++own) {
            hoppers_.emplace_back(pool.get_executor(), *this, own);
        }
    }

    void begin() {
        for (std::uint32_t event = 0; event < in_flight; ++event) {
            auto& first = hoppers_[event % keys];
            asio::post(first.strand, [&first] { first.hop(); });
        }
    }

    void stop() { stop_.store(true, std::memory_order_relaxed); }

private:
    struct Hopper {
        Hopper(Pool::executor_type executor, Cross& all, std::uint32_t number)
            : strand(executor), cross(all), own(number), random(number) {}

        void hop() {
            Tally::count();
            if (!cross.stop_.load(std::memory_order_relaxed)) {
                auto target = random.below(keys - 1);
                auto& next = cross.hoppers_[target + (target >= own)];
                asio::defer(next.strand, [&next] { next.hop(); });
            }
        }

        Strand strand;
        Cross& cross;
        std::uint32_t own;
        Random random;
    };

    std::deque<Hopper> hoppers_;
    std::atomic<bool> stop_{false};
};
