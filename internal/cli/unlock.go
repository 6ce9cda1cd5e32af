// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newForceUnlockCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "force-unlock NAME LOCK-ID",
		Short: "Release the lock of a state whose holder is gone",
		Long: `Release the lock of a stack's state. "yuba status" tells the lock's id and who holds it. Be sure that the holder is
gone: two writers damage a state. The locks of Yuba's own runs are released by Yuba.`,
		Example: "  yuba force-unlock vpc 3f2a6c1e-8f1d-4c7e-9d55-0a0b1c2d3e4f",
		Args:    arguments(2, 2), ValidArgsFunction: a.stackNames(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, key, err := a.open(cmd, args[0])
			if err != nil {
				return err
			}
			if err := s.content.Unlock(cmd.Context(), key.Namespace, key.Name, args[1]); err != nil {
				return fmt.Errorf("unlock the state of %s: %w", key, err)
			}
			s.news("The state of %s is unlocked.", key)
			return nil
		},
	}
}
