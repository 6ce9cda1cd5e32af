// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"
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

func newExitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesText}
}
