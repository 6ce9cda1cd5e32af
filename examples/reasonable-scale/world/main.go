// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// World is what the example needs around Yuba, on one machine: a git server with the central repository, a registry, and a
// place for states. It prints where they are, as variables of a shell, and goes on until it is told to end.
//
//	go run ./examples/reasonable-scale/world -central examples/reasonable-scale/central
//
// Everything is kept in memory or in a temporary directory and gone afterwards.
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

// serve starts everything, says where it is, and ends everything when the process is told to end.
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
	// Not a word that logs have, too: what is in Secrets is masked there.
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

// world is what the servers take for a test.
type world struct{ ends []func() }

// Helper marks nothing.
func (*world) Helper() {}

// Cleanup remembers what is to be ended.
func (w *world) Cleanup(end func()) { w.ends = append(w.ends, end) }

// failure is why something could not be started.
type failure struct{ error }

// Fatalf gives up; serve returns what it says.
func (w *world) Fatalf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// end ends what was started, the last first.
func (w *world) end() {
	for i := len(w.ends) - 1; i >= 0; i-- {
		w.ends[i]()
	}
}
