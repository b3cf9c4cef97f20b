// The workloads on goroutines and channels, for `mely bench`, which builds and runs
// this program:
//   - --workload U|Uk|P|Py|X --seconds S --workers N --json
//   - --workload idle-keys|used-keys|pending-events --amount N --workers N --json
//   - --spin, which prints how many cycles of work are done in a second
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"
)

func main() {
	workload := flag.String("workload", "U", "what to run")
	seconds := flag.Float64("seconds", 1, "how long to measure, after a fifth of it")
	workers := flag.Int("workers", runtime.NumCPU(), "threads that run goroutines")
	amount := flag.Int("amount", 1_000_000, "keys or events to measure the memory of")
	asJSON := flag.Bool("json", false, "print JSON instead of a sentence")
	onlySpin := flag.Bool("spin", false, "only print the cycles of work in a second")
	flag.Parse()
	if *onlySpin {
		fmt.Printf("%.0f\n", cyclesPerSecond())
		return
	}
	runtime.GOMAXPROCS(*workers)
	measured := time.Duration(*seconds * float64(time.Second))
	result, err := run(*workload, measured, *amount)
	if err != nil {
		fmt.Fprintf(os.Stderr, "go: %v\n", err)
		os.Exit(2)
	}
	if !*asJSON {
		fmt.Printf("%s by go: %+v\n", *workload, result)
		return
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fmt.Fprintf(os.Stderr, "go: %v\n", err)
		os.Exit(1)
	}
}

func run(workload string, measured time.Duration, amount int) (any, error) {
	switch workload {
	case "U":
		return unbalanced(measured), nil
	case "Uk":
		return keyedRounds(measured), nil
	case "P":
		return chains(measured, false), nil
	case "Py":
		return chains(measured, true), nil
	case "X":
		return cross(measured), nil
	case "idle-keys":
		return idleKeys(amount, false)
	case "used-keys":
		return idleKeys(amount, true)
	case "pending-events":
		return pendingEvents(amount)
	}
	return nil, fmt.Errorf("unknown workload %q", workload)
}
