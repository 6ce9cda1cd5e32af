// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// list lists the objects of a view of one kind.
func (v *View) list(ctx context.Context, namespace string) ([]*session.Object, string, error) {
	if v.served != nil {
		return v.served.list(ctx, namespace, v.Selector.String())
	}
	return v.ListObjects(ctx, v.Kinds[0], namespace, client.MatchingLabelsSelector{Selector: v.Selector})
}

// listKinds lists all kinds that the API serves and the user may list.
func (v *View) listKinds(ctx context.Context) ([]*session.Object, error) {
	var objects []*session.Object
	listed := false
	for _, k := range v.Kinds {
		some, _, err := v.ListObjects(ctx, k, v.Namespace, client.MatchingLabelsSelector{Selector: v.Selector})
		var unserved *session.UnservedError
		switch {
		case err == nil:
			listed = true
		case apierrors.IsForbidden(err):
			v.News("Omitted %s: %v", k.People(), err)
		case !errors.As(err, &unserved):
			return nil, err
		}
		objects = append(objects, some...)
	}
	if !listed {
		return nil, ui.Exitf(ui.ExitFailure, "nothing to list: this API does not serve these kinds, or you may not list them")
	}
	return objects, nil
}

func (v *View) getAll(ctx context.Context, keys []types.NamespacedName) ([]*session.Object, error) {
	get := v.GetObject
	if v.served != nil {
		get = v.served.get
	}
	objects := make([]*session.Object, len(keys))
	for i, key := range keys {
		var err error
		if objects[i], err = get(ctx, v.Kinds[0], key); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

func (v *View) table(objects []*session.Object) {
	elsewhere := func(o *session.Object) bool { return o.GetNamespace() != v.Namespace }
	v.columns.Names = v.head(v.Namespace == "" || slices.ContainsFunc(objects, elsewhere))
	rows := [][]string{v.columns.Names}
	for _, o := range objects {
		rows = append(rows, v.row(o))
	}
	v.columns = ui.Fit(rows, v.Room(v.Out, v.Answer))
	for i, row := range rows {
		if i > 0 {
			v.told[objects[i-1].String()] = v.timeless(row)
		}
		if i > 0 || !v.noHeader {
			fmt.Fprintln(v.Out, v.columns.Line(row))
		}
	}
}

func (v *View) head(namespaces bool) []string {
	var head []string
	if namespaces && !v.Kinds[0].ClusterWide {
		head = append(head, "NAMESPACE")
	}
	own := ownHeads[v.Kinds[0].Plural]
	switch {
	case v.served != nil:
		return append(head, v.served.heads(v.Answer.Wide())...)
	case len(v.Kinds) == 1 && own != nil:
		return append(head, own...)
	}
	head = append(head, "NAME")
	if v.any(func(k session.Kind) bool { return k.Source || k.Reports && k.GVK != session.Receivers.GVK }) {
		head = append(head, "REVISION")
	}
	reports := v.any(func(k session.Kind) bool { return k.Reports })
	if v.any(func(k session.Kind) bool { return k.Suspends }) && (v.Answer.Wide() || !reports) {
		head = append(head, "SUSPENDED")
	}
	if reports {
		head = append(head, "READY", "MESSAGE")
	}
	return head
}

func (v *View) any(has func(session.Kind) bool) bool { return slices.ContainsFunc(v.Kinds, has) }

func (v *View) row(o *session.Object) []string {
	row := make([]string, 0, len(v.columns.Names))
	if v.served != nil {
		for _, name := range v.columns.Names {
			cell := o.Cells[name]
			if name == "NAMESPACE" {
				cell = o.GetNamespace()
			}
			row = append(row, diagnostic.Printable(cell))
		}
		return row
	}
	cells := v.cells(o)
	for _, name := range v.columns.Names {
		row = append(row, ui.OneLine(cells[name]))
	}
	return row
}

// cells are the cells of objects whose table is not the API's.
func (v *View) cells(o *session.Object) map[string]string {
	name, revision, message := o.GetName(), o.Revision(), o.Message()
	if len(v.Kinds) > 1 {
		name = o.Kind.Singular() + "/" + name
	}
	if !v.Answer.Wide() {
		revision, message = shorten.Revision(revision), o.ShortMessage()
	}
	cells := map[string]string{"NAMESPACE": o.GetNamespace(), "NAME": name, "REVISION": revision, "READY": string(o.Ready().Status), "MESSAGE": message}
	if o.Kind.Suspends {
		cells["SUSPENDED"] = "False"
		if o.Spec.Suspend {
			cells["SUSPENDED"] = "True"
		}
	}
	maps.Copy(cells, ownCells(o, time.Now()))
	return cells
}

// follow shows every change until Ctrl-C. A new list finds the changes between two watches.
func (v *View) follow(ctx context.Context, keys []types.NamespacedName) error {
	wanted := func(o *session.Object) bool { return v.Keep(o) && (len(keys) == 0 || slices.Contains(keys, o.Key())) }
	namespace := v.Namespace
	if len(keys) > 0 {
		namespace = keys[0].Namespace
		if slices.ContainsFunc(keys, func(key types.NamespacedName) bool { return key.Namespace != namespace }) {
			namespace = ""
		}
	}
	for {
		err := v.Patient(ctx, func(ctx context.Context) error {
			objects, version, err := v.list(ctx, namespace)
			if err != nil {
				return err
			}
			for _, o := range objects {
				if wanted(o) {
					v.tell(o)
				}
			}
			return v.watchFrom(ctx, namespace, version, func(event watch.EventType, o *session.Object) {
				switch {
				case !wanted(o):
				case event == watch.Deleted:
					delete(v.told, o.String())
					fmt.Fprintln(v.Out, v.columns.Line(append(v.row(o)[:len(v.columns.Names)-1], "deleted")))
				default:
					v.tell(o)
				}
			})
		})
		if err != nil {
			return err
		}
		if err := session.Pause(ctx, session.RetryPause); err != nil {
			return err
		}
	}
}

func (v *View) watchFrom(ctx context.Context, namespace, version string, tell func(watch.EventType, *session.Object)) error {
	k := v.Kinds[0]
	if v.served != nil {
		return v.served.watch(ctx, namespace, v.Selector.String(), version, tell)
	}
	events, err := v.Objects.Watch(ctx, k.EmptyList(), client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: v.Selector},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	if err != nil {
		return fmt.Errorf("watch %s: %w", k.Plural, err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		raw, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return ctx.Err()
		}
		o, err := k.Object(raw)
		if err != nil {
			return err
		}
		tell(event.Type, o)
	}
	return ctx.Err()
}

func (v *View) tell(o *session.Object) {
	row := v.row(o)
	if says := v.timeless(row); v.told[o.String()] != says {
		v.told[o.String()] = says
		fmt.Fprintln(v.Out, v.columns.Line(row))
	}
}

// timeless is a row without ages, whose changes are not news.
func (v *View) timeless(row []string) string {
	var kept []string
	for i, cell := range row {
		if name := v.columns.Names[i]; name != "AGE" && name != "OPENED" {
			kept = append(kept, cell)
		}
	}
	return strings.Join(kept, "\t")
}
