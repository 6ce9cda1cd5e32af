// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"
)

const exitCodesText = `Every command of yuba ends with one of these codes:

  0    Success.
  1    The command failed; the message says why and what to do.
  2    The command line is wrong: an unknown command or flag, a missing argument.
  3    A named object does not exist: a stack, plan, run or version, a source or Kustomization, an artifact.
  4    A run of the stack failed. The state contains what it did before it failed; "yuba logs NAME" shows the reason. Or a
       speculative plan failed, of "yuba preview", "yuba ci", "yuba impact" or "yuba registry try". Or tofu failed in "yuba env".
  5    Not finished: a plan waits for approval, a dependency blocks a Kustomization, pruning needs confirmation, an object is
       suspended, or --timeout has passed; or "yuba adopt" found something that needs action first; or "yuba impact --plan",
       "yuba preview" or "yuba ci" found stacks that cannot be planned before others are applied; or "yuba env doctor" could not
       find out something.
  6    "yuba up" refused its data directory: a part of it is missing, damaged or of a newer Yuba. Nothing was changed, and
       another start changes nothing; the message says how to recover. Or policies refuse a plan of "yuba preview" or "yuba ci".
       Or "yuba env connect" refused: the state is a file, or the stack's name is taken.
  130  Interrupted, by Ctrl-C for instance. A run that has begun continues.

"yuba kubectl" ends with the codes of kubectl. "yuba diff" and "yuba tenant diff" end with 1 when there is a difference, and with
2 instead of 1 when the comparison failed. With --detailed-exitcode, "yuba preview", "yuba ci" and "yuba env plan" end with 0 without
changes, 1 after an error and 2 with changes.`

func newExitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "Exit codes", Long: exitCodesText}
}
