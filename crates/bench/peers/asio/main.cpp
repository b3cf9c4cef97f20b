// The workloads on Boost.Asio, for `mely bench peers`, which compiles and runs it:
//
//   --workload U|Uk|P|Py|X --seconds S --workers N --json
//   --spin    prints how many cycles of work are done in a second

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "workloads.hpp"

struct Options {
    std::string workload;
    double seconds = 1;
    int workers = 1;
    bool json = false;
    bool spin = false;
};

[[noreturn]] static void refuse(const char* what, const char* which) {
    std::fprintf(stderr, "asio: %s %s\n", what, which);
    std::exit(2);
}

static Options read(int count, char** words) {
    Options options;
    for (int at = 1; at < count; ++at) {
        const char* word = words[at];
        auto value = [&] {
            if (at + 1 == count) refuse("no value after", word);
            return words[++at];
        };
        if (!std::strcmp(word, "--workload")) options.workload = value();
        else if (!std::strcmp(word, "--seconds")) options.seconds = std::atof(value());
        else if (!std::strcmp(word, "--workers")) options.workers = std::atoi(value());
        else if (!std::strcmp(word, "--json")) options.json = true;
        else if (!std::strcmp(word, "--spin")) options.spin = true;
        else refuse("unknown option", word);
    }
    if (options.workers < 1) refuse("--workers must be", "1 or more");
    return options;
}

template <typename Workload>
static Outcome in_rounds(Pool& pool, Clock::duration time) {
    Rounds rounds(time);
    Workload workload(pool, rounds);
    asio::post(pool, [&] { workload.begin(); });
    auto outcome = rounds.wait();
    pool.join();
    return outcome;
}

static Outcome run(const Options& options) {
    Pool pool(static_cast<std::size_t>(options.workers));
    auto time = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(options.seconds));
    const auto& workload = options.workload;
    if (workload == "U") return in_rounds<Unbalanced>(pool, time);
    if (workload == "Uk") return in_rounds<KeyedRounds>(pool, time);
    if (workload == "P" || workload == "Py") return in_rounds<Chains>(pool, time);
    if (workload == "X") {
        Cross cross(pool);
        cross.begin();
        auto outcome = measure_steady(time);
        cross.stop();
        pool.join();
        return outcome;
    }
    refuse("unknown workload", workload.c_str());
}

int main(int count, char** words) {
    auto options = read(count, words);
    if (options.spin) {
        std::printf("%.0f\n", cycles_per_second());
        return 0;
    }
    auto outcome = run(options);
    auto nanoseconds = std::chrono::nanoseconds(outcome.time).count();
    if (options.json) {
        std::printf("{\"events\":%llu,\"time\":{\"secs\":%lld,\"nanos\":%lld}}\n",
                    static_cast<unsigned long long>(outcome.events),
                    static_cast<long long>(nanoseconds / 1000000000),
                    static_cast<long long>(nanoseconds % 1000000000));
    } else {
        std::printf("%s by asio: %.3f M events/s\n", options.workload.c_str(),
                    outcome.events * 1e3 / nanoseconds);
    }
    return 0;
}
