// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/state/blame"
)

func newStateBlameCommand(a *session.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "blame NAME ADDRESS[.ATTRIBUTE]",
		Short: "Show who changed a resource or an attribute",
		Long: `Show which version of the state changed a resource, or one attribute of it, last: when, by which run, with which revision of the
source, and who requested and approved it. Sensitive values are masked. The command reads the stored versions, from the newest to
older ones; runs whose records are no longer kept are shown by their ids.`,
		Example: "  yuba state blame vpc aws_vpc.main.cidr_block\n  yuba state blame vpc 'module.db.aws_db_instance.main[0].tags[\"owner\"]' --all",
		Args:    ui.Arguments(2, 2), ValidArgsFunction: a.StackAnd(stateAddresses, false),
	}
	cmd.Flags().BoolVar(&all, "all", false, "show all changes, not only the last one")
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, rest []string) error {
		answer, err := s.Content.Blame(ctx, key.Namespace, key.Name, rest[0], all)
		if err != nil {
			return s.StackError("search the state of", key, err)
		}
		if len(answer.Events) == 0 {
			return ui.Exitf(ui.ExitNotFound, "no stored version of the state of %s has %s. List what it has:\n    yuba state list %s", key, rest[0], s.Call(key))
		}
		events := blamed(ctx, s, key, answer.Events)
		if out.Machine() {
			return out.Print(s.Out, struct {
				blame.Answer `json:",inline"`
				Events       []blamedEvent `json:"events"`
			}{answer, events})
		}
		return showBlame(s, &answer, events, out)
	})
	return cmd
}

// blamedEvent is an event with what is known about its run.
type blamedEvent struct {
	blame.Event `json:",inline"`
	// Revision is that of the source, By who requested the run, Trigger why it began.
	Revision  string   `json:"revision,omitempty"`
	By        string   `json:"by,omitempty"`
	Trigger   string   `json:"trigger,omitempty"`
	Plan      string   `json:"plan,omitempty"`
	Approvers []string `json:"approvers,omitempty"`
}

// blamed adds the runs and the approvals to events. What is no longer known is left out.
func blamed(ctx context.Context, s *session.Session, key types.NamespacedName, events []blame.Event) []blamedEvent {
	approvers := approvals(ctx, s, key)
	list := make([]blamedEvent, 0, len(events))
	for _, e := range events {
		one := blamedEvent{Event: e}
		if rec, err := s.Content.Run(ctx, key.Namespace, key.Name, e.Version.RunID); e.Version.RunID != "" && err == nil {
			one.Revision, one.By, one.Trigger = rec.Spec.Artifact.Revision, rec.By, rec.Trigger
			if rec.Spec.Plan != nil {
				one.Plan = rec.Spec.Plan.ID
			}
		}
		one.Approvers = approvers[e.Version.RunID]
		if one.Approvers == nil && one.Plan != "" {
			one.Approvers = approvers[one.Plan]
		}
		list = append(list, one)
	}
	return list
}

// approvals are the people whose approvals counted, by run and by plan, as far as the user may read the
// audit log.
func approvals(ctx context.Context, s *session.Session, key types.NamespacedName) map[string][]string {
	found := map[string][]string{}
	log, err := s.Content.Audit(ctx, key.Namespace, key.Name)
	if err != nil {
		return found
	}
	for _, chain := range log.Chains {
		for _, entry := range chain.Items {
			r, err := entry.Decode()
			if err != nil || len(r.Approvers) == 0 {
				continue
			}
			for _, id := range []string{r.Run, r.Plan} {
				if id != "" {
					found[id] = r.Approvers
				}
			}
		}
	}
	return found
}

const maxShownBlame = 60

func showBlame(s *session.Session, answer *blame.Answer, events []blamedEvent, out *ui.Output) error {
	rows := [][]string{{"WHEN", "WHAT", "RUN", "REVISION", "BY", "APPROVED BY", "FROM", "TO"}}
	for _, e := range events {
		by := cmp.Or(e.By, e.Trigger, e.Version.Reason, "-")
		rows = append(rows, []string{e.Version.Time.Format(time.RFC3339), string(e.Kind), cmp.Or(e.Version.RunID, "-"), cmp.Or(e.Revision, "-"), by,
			cmp.Or(strings.Join(e.Approvers, ", "), "-"), cmp.Or(ui.FirstLine(e.Was, maxShownBlame), "-"), cmp.Or(ui.FirstLine(e.Is, maxShownBlame), "-")})
	}
	if err := s.Table(rows, out); err != nil {
		return err
	}
	if answer.Damaged+answer.Encrypted > 0 {
		s.News("%s skipped: %d damaged, %d encrypted by OpenTofu. The changes may have happened in one of them.", ui.Count(answer.Damaged+answer.Encrypted, "version"), answer.Damaged, answer.Encrypted)
	}
	if last := events[len(events)-1]; last.Kind == blame.Known {
		s.News("Version %s is the oldest stored version. Earlier changes are not known.", last.Version.ID)
	}
	return nil
}
