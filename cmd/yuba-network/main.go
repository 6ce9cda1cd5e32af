// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command yuba-network connects the isolated network of a run's program to that of the machine.
//
//	yuba-network [-allow ENTRY]...
//
// Standard input is a socket, at whose other end yuba-sandbox hands over the program's network; see
// package relay. Standard output gets a line for each destination that is refused. The program ends
// with the one that it serves.
//
// It is a program of its own, because it outlives the runner as tofu does, and because it reads the
// packets of hostile programs: it runs in a sandbox, too, and one for each program.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/yuba-dev/yuba/internal/runs/network"
	"github.com/yuba-dev/yuba/internal/runs/network/relay"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "yuba-network: "+err.Error())
		os.Exit(1)
	}
}

func run(args []string) error {
	// Ctrl-C in a terminal is meant for the program, which needs its network to end in order.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGPIPE)
	var entries []string
	for len(args) > 0 {
		if args[0] != "-allow" || len(args) < 2 {
			return fmt.Errorf("read the arguments: unexpected %q. Yuba starts this program automatically", args[0])
		}
		entries, args = append(entries, args[1]), args[2:]
	}
	list, err := network.ParseList(entries)
	if err != nil {
		return fmt.Errorf("read the arguments: -allow %w", err)
	}
	return relay.Run(context.Background(), relay.Options{Control: os.Stdin, List: list, Report: os.Stdout})
}
