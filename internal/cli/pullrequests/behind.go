// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pullrequests

import (
	"fmt"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// effects are the effects in words.
var effects = map[yubav1.PullRequestEffect]string{"breaks": "breaks", "fails": "plan fails", "refused": "refused", "changes": "changes", "same": "no changes",
	"runs": "runs", "mayRun": "may run", "unknown": "unknown yet"}

// maxMessage limits a cell; -o wide and -o json have all of it.
const maxMessage = 100

// showBehind lists the stacks that read what a pull request changes.
func showBehind(s *session.Session, k *known, out *ui.Output) error {
	if len(k.Behind)+int(k.MoreBehind) == 0 {
		return nil
	}
	fmt.Fprintln(s.Out)
	rows := [][]string{{"LEVEL", "STACK BEHIND", "EFFECT", "CHANGES", "BECAUSE"}}
	for _, b := range k.Behind {
		message := b.Message
		if !out.Wide() {
			message = ui.FirstLine(message, maxMessage)
		}
		changes := ""
		if b.Counts != (yubav1.PullRequestCounts{}) {
			changes = counts(b.Counts)
		}
		rows = append(rows, []string{fmt.Sprint(b.Level), b.Name, effects[b.Effect], changes, message})
	}
	if len(k.Behind) > 0 {
		if err := s.Table(rows, out); err != nil {
			return err
		}
	}
	if k.MoreBehind > 0 {
		s.News("And %s behind.", ui.Count(int(k.MoreBehind), "more stack"))
	}
	return nil
}
