// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewEventsCommand is "yuba events".
func NewEventsCommand(a *session.App) *cobra.Command {
	var about string
	var kinds []string
	var all bool
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List the events of sources, Kustomizations, stacks and other objects",
		Long: `List the events of a namespace, of all namespaces, or of one object, the oldest first. Events are stored for an hour.
"yuba kubectl events --watch" follows them.`,
		Example: "  yuba events\n  yuba events --for kustomization/apps\n  yuba events -A --types Warning",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringVar(&about, "for", "", "list only events of `KIND/NAME`, such as git/infra, kustomization/apps, stack/vpc")
	flags.StringSliceVar(&kinds, "types", nil, "list only events of these types: Normal, Warning")
	flags.BoolVarP(&all, "all-namespaces", "A", false, "list events of all namespaces")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	ui.Complete(cmd, "types", "Normal", "Warning")
	var kind, name string
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		for _, t := range kinds {
			if t != corev1.EventTypeNormal && t != corev1.EventTypeWarning {
				return ui.UsageErrorf(cmd, "--types %s: want Normal or Warning", t)
			}
		}
		kind, name, err = eventSubject(cmd, about)
		return err
	}
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		namespace := s.Namespace
		if all {
			namespace = ""
		}
		events, err := events(cmd.Context(), s, namespace, kind, name)
		if err != nil {
			return err
		}
		events = slices.DeleteFunc(events, func(e corev1.Event) bool { return len(kinds) > 0 && !slices.Contains(kinds, e.Type) })
		return showEvents(s, events, namespace, out)
	})
	return cmd
}

// eventSubject reads KIND/NAME, or nothing. Unknown kinds are used as they are.
func eventSubject(cmd *cobra.Command, about string) (kind, name string, err error) {
	if about == "" {
		return "", "", nil
	}
	kind, name, ok := strings.Cut(about, "/")
	if !ok || kind == "" || name == "" || strings.Contains(name, "/") {
		return "", "", ui.UsageErrorf(cmd, "--for %q: want KIND/NAME, such as kustomization/apps", about)
	}
	if known, ok := session.KindNamed(kind); ok {
		kind = known.GVK.Kind
	} else if known, ok := session.KindNamed(strings.ToLower(kind)); ok {
		kind = known.GVK.Kind
	}
	return kind, name, nil
}

// events lists the events of a namespace, of all, or of one object, the oldest first.
func events(ctx context.Context, s *session.Session, namespace, kind, name string) ([]corev1.Event, error) {
	selector := fields.Set{}
	if kind != "" {
		selector["involvedObject.kind"], selector["involvedObject.name"] = kind, name
	}
	var list corev1.EventList
	if err := s.Objects.List(ctx, &list, client.InNamespace(namespace), client.MatchingFieldsSelector{Selector: selector.AsSelector()}); err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return seenAt(a).Compare(seenAt(b)) })
	return list.Items, nil
}

// seenAt is the time when an event was last seen. Recorders set different fields.
func seenAt(e corev1.Event) time.Time {
	var last time.Time
	for _, at := range []time.Time{e.FirstTimestamp.Time, e.LastTimestamp.Time, e.EventTime.Time} {
		if at.After(last) {
			last = at
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	if last.IsZero() {
		return e.CreationTimestamp.Time
	}
	return last
}

// everything is the form of tables whose messages must not be cut.
var everything = &ui.Output{Form: ui.WideForm}

func showEvents(s *session.Session, events []corev1.Event, namespace string, out *ui.Output) error {
	if out.Machine() {
		list := corev1.EventList{Items: events}
		list.APIVersion, list.Kind = "v1", "EventList"
		if list.Items == nil {
			list.Items = []corev1.Event{}
		}
		return out.Print(s.Out, &list)
	}
	if len(events) == 0 {
		s.News("No events found.")
		return nil
	}
	rows := [][]string{{"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"}}
	for _, e := range events {
		object := strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name
		rows = append(rows, []string{ui.Age(time.Now(), seenAt(e)), e.Type, e.Reason, object, e.Message})
	}
	if namespace == "" {
		rows[0] = append([]string{"NAMESPACE"}, rows[0]...)
		for i, e := range events {
			rows[i+1] = append([]string{e.Namespace}, rows[i+1]...)
		}
	}
	return s.Table(rows, everything)
}
