// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import "github.com/spf13/cobra"

func (g *group) newConnectCommand() *cobra.Command                              { return &cobra.Command{Use: "connect"} }
func (g *group) newDoctorCommand() *cobra.Command                               { return &cobra.Command{Use: "doctor"} }
func (g *group) newTargetsCommand() *cobra.Command                              { return &cobra.Command{Use: "targets"} }
func (g *group) planOnServer(cmd *cobra.Command, name string, o *planned) error { return nil }
