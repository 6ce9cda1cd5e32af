// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pullrequests

import (
	"fmt"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// showEnvironments lists the commit statuses of environments.
func showEnvironments(s *session.Session, k *known, out *ui.Output) error {
	if len(k.Environments) == 0 {
		return nil
	}
	fmt.Fprintln(s.Out)
	rows := [][]string{{"ENVIRONMENT", "RESULT", "STATUS"}}
	for _, e := range k.Environments {
		rows = append(rows, []string{e.Name, e.Result, e.Status})
	}
	return s.Table(rows, out)
}
