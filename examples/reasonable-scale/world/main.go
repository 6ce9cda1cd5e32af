// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// World runs the services of the example on one machine: a git server with the central repository, a registry, and a server
// for states. It prints their addresses as shell variables, and runs until it gets a signal.
//
//	go run ./examples/reasonable-scale/world -central examples/reasonable-scale/central
//
// All data is in memory or in a temporary directory, which it removes at the end.
package main

import (
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
	"github.com/yuba-dev/yuba/internal/testkit/statetest"
)

func main() {
	central := flag.String("central", "central", "the directory whose files the central repository begins with")
	flag.Parse()
	if err := serve(os.Stdout, *central); err != nil {
		fmt.Fprintln(os.Stderr, "world:", err)
		os.Exit(1) //nolint:forbidigo // this is the main that turns an error into an exit code
	}
}

// serve starts everything, prints the addresses, and stops everything on a signal.
func serve(out io.Writer, central string) (err error) {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	w := &world{}
	defer w.end()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	// Not a word of logs: values of Secrets are masked there.
	const username = "state-keeper"
	password := rand.Text()
	git, registry, states := gittest.New(w), ocitest.New(w), statetest.New(w, username, password)
	repository := git.Repository(w, "central")
	repository.CommitTree(w, "the beginning", central)
	_, err = fmt.Fprintf(out, "CENTRAL=%s\nCENTRAL_TREE=%s\nREGISTRY=%s\nREGISTRY_INSECURE=true\nSTATES=%s\nSTATES_USERNAME=%s\nSTATES_PASSWORD=%s\nRECEIVER_TOKEN=%s\n",
		repository.URL(), repository.Tree(), registry.Host(), states.URL(), username, password, rand.Text())
	if err != nil {
		return err
	}
	<-end
	return nil
}

// world acts as the test of the servers.
type world struct{ ends []func() }

// Helper does nothing.
func (*world) Helper() {}

// Cleanup registers a function for the end.
func (w *world) Cleanup(end func()) { w.ends = append(w.ends, end) }

// failure is the error of a server that could not start.
type failure struct{ error }

// Fatalf ends serve with an error.
func (w *world) Fatalf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// end stops everything in reverse order.
func (w *world) end() {
	for i := len(w.ends) - 1; i >= 0; i-- {
		w.ends[i]()
	}
}
