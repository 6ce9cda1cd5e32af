// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import "embed"

// workflows are jobs that "yuba ci --print-workflow" prints.
//
//go:embed workflows/*.yml
var workflows embed.FS

// workflowNames are the values of --print-workflow.
var workflowNames = []string{"github", "gitlab", "gitea"}

func workflow(name string) ([]byte, error) { return workflows.ReadFile("workflows/" + name + ".yml") }
