// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// The exit codes; their words are in exitCodesText.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitRunFailed   = 4
	exitWaiting     = 5
	exitRefused     = 6
	exitInterrupted = 130
)

const exitCodesText = `Every command of yuba ends with one of these codes:

  0    It is done.
  1    It could not be done; the message says why and what to do.
  2    The command line was wrong: an unknown command or flag, a missing argument.
  3    What was named does not exist: a stack, plan, run or version, a source or Kustomization, an artifact.
  4    A run of the stack failed. What it did before it failed is in the state; "yuba logs NAME" tells what.
  5    Not finished: a plan waits for approval, a Kustomization is blocked by a dependency or its pruning needs confirmation,
       something is suspended, or --timeout has passed; or "yuba adopt" found something that has to be done before.
  6    "yuba up" refused its data directory: a part of it is missing, damaged or of a newer Yuba. Nothing was changed, and
       starting again changes nothing; the message names the ways back.
  130  It was interrupted, by Ctrl-C for instance. A run that has begun goes on.

"yuba kubectl" ends with the codes of kubectl. "yuba diff" and "yuba tenant diff" end with 1 when there is a difference, and with
2 instead of 1 when it could not be told.`

// noYubaText is for those who have no kubeconfig.
const noYubaText = "no Yuba is known here. A kubeconfig was looked for at $KUBECONFIG, in the data directory ($YUBA_DATA_DIR, else\n" +
	"$XDG_DATA_HOME/yuba, else ~/.local/share/yuba) and at ~/.kube/config.\n" +
	"Start Yuba:\n    yuba up\nOr say where it is with --kubeconfig FILE or --data-dir DIR."

func newExitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesText}
}

// exitError is an error that has an exit code of its own.
type exitErr struct {
	code int
	err  error
}

func (e *exitErr) Error() string { return e.err.Error() }
func (e *exitErr) Unwrap() error { return e.err }

func exitf(code int, format string, args ...any) error {
	return &exitErr{code, fmt.Errorf(format, args...)}
}

func usageErrorOf(cmd *cobra.Command, err error) error {
	return &exitErr{exitUsage, fmt.Errorf("%w\nSee:\n    %s --help", err, cmd.CommandPath())}
}

func usageErrorf(cmd *cobra.Command, format string, args ...any) error {
	return usageErrorOf(cmd, fmt.Errorf(format, args...))
}

// arguments wants a number of arguments, from least to most, which the command's usage line names.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageErrorf(cmd, "an argument is missing: %s", cmd.UseLine())
		case most >= 0 && len(args) > most:
			return usageErrorf(cmd, "there are too many arguments: %s", cmd.UseLine())
		}
		return nil
	}
}

// noSuchCommand is for commands that only group others.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("there is no command %q", cmd.CommandPath()+" "+args[0])
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if near := suggestions(cmd, args[0]); len(near) > 0 {
		message += ". Did you mean " + strings.Join(near, " or ") + "?"
	}
	return usageErrorf(cmd, "%s", message)
}

// suggestions are the commands that a word may mean: those that other programs call so, else those that are spelt like it.
func suggestions(cmd *cobra.Command, word string) []string {
	var named []string
	for _, c := range cmd.Commands() {
		if slices.Contains(c.SuggestFor, strings.ToLower(word)) {
			named = append(named, c.Name())
		}
	}
	if len(named) > 0 {
		return named
	}
	return cmd.SuggestionsFor(word)
}

// explain turns what ended a command into words and an exit code.
func explain(err error) (string, int) {
	var exit *exitErr
	var address *url.Error
	var refused *datadir.RefusedError
	var newer *datadir.NewerFormatError
	text := strings.TrimRight(err.Error(), "\n")
	switch {
	case errors.As(err, &exit):
		return text, exit.code
	case errors.As(err, &refused), errors.As(err, &newer):
		return text, exitRefused
	case errors.Is(err, context.Canceled):
		return "interrupted", exitInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		return "the time of --timeout has passed", exitWaiting
	case clientcmd.IsEmptyConfig(err):
		return noYubaText, exitError
	case errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &address):
		return fmt.Sprintf("nobody answers at %s. Is Yuba running? Start it:\n    yuba up", hostOf(address.URL)), exitError
	case apierrors.IsNotFound(err):
		return text, exitNotFound
	case apierrors.IsUnauthorized(err):
		return text + "\nThe server does not know these credentials; which ones are used is told by:\n    yuba kubectl config view --minify", exitError
	}
	return text, exitError
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return u.Scheme + "://" + u.Host
}
