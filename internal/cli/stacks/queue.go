// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// NewQueueCommand is "yuba queue".
func NewQueueCommand(a *session.App) *cobra.Command {
	return listing.ServerCommand(a, &cobra.Command{
		Use: "queue", SuggestFor: []string{"jobs"},
		Short: "List running and queued runs in execution order",
		Long: `List running and queued runs in the order in which they execute, unless others come in between. With -n, list only those of
that namespace; places count all namespaces.

Runs that a person requested or approved come first, with those that end deleted stacks. Runs for changed inputs come next,
drift checks last. Among equals, namespaces take turns by the time that their runs took so far, and runs that have waited
for long move up. While runs are short, Yuba prepares the next ones in advance. "yuba up --concurrency" limits the concurrent
runs, --namespace-concurrency those of one namespace.`,
		Example: "  yuba queue\n  yuba queue -n team-a\n  yuba queue -o json",
	}, func(ctx context.Context, s *session.Session) (*listing.List, error) {
		q, err := s.Content.Queue(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask the server for its queue: %w", err)
		}
		if only := a.NamespaceFlag(); only != "" {
			q.Items = slices.DeleteFunc(q.Items, func(e content.QueueEntry) bool { return e.Namespace != only })
		}
		return listedQueue(q, time.Now()), nil
	})
}

func listedQueue(q content.Queue, now time.Time) *listing.List {
	l := &listing.List{Answer: q, None: "No run is running or queued.", Rows: [][]string{{"PLACE", "STACK", "RUN", "FOR", "AGE", "WHY"}}}
	for _, e := range q.Items {
		name, place, since := e.Namespace+"/"+e.Name, strconv.Itoa(e.Place), e.Since
		if e.Place == 0 {
			place = "running"
			if e.Phase == content.PhasePrepared {
				place = e.Phase
			}
			if e.Started != nil {
				since = *e.Started
			}
		}
		l.Add(name, place, name, e.Operation, e.Urgency, ui.Age(now, since), why(e))
	}
	return l
}
