// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// pushedRef is a line that git gives its hook pre-push.
type pushedRef struct{ branch, commit string }

// maxPushed limits the branches that one push previews: a mirror may push thousands.
const maxPushed = 10

// readPushed reads what git pushes: the commits of branches. Deleted branches and tags have none.
func readPushed(in io.Reader) (list []pushedRef, err error) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 4 {
			return nil, fmt.Errorf("read what git pushes: %q is not LOCAL-REF COMMIT REMOTE-REF COMMIT, which git's hook pre-push reads", ui.FirstLine(lines.Text(), 80))
		}
		branch, isBranch := strings.CutPrefix(fields[2], "refs/heads/")
		if isBranch && strings.Trim(fields[1], "0") != "" {
			list = append(list, pushedRef{branch, fields[1]})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read what git pushes: %w", err)
	}
	return list, nil
}

// push plans the commits that git pushes.
func (o *options) push(ctx context.Context, s *session.Session) (sum worst, err error) {
	if ui.IsTerminal(s.In) {
		return sum, ui.Exitf(ui.ExitUsage, "--pre-push reads what git's hook pre-push gets on standard input. To plan the working tree:\n    yuba preview")
	}
	list, err := readPushed(s.In)
	if err != nil {
		return sum, err
	}
	if len(list) > maxPushed {
		s.News("%d branches are pushed at once, so nothing is planned.", len(list))
		return sum, nil
	}
	for _, ref := range list {
		one := *o
		one.pushed, one.commit = ref.branch, ref.commit
		w, err := one.survey(ctx, s)
		if err != nil {
			return sum, err
		}
		sum = worst{sum.failed + w.failed, sum.refused + w.refused, sum.unknown + w.unknown, sum.changed + w.changed}
	}
	return sum, nil
}
