// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

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

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// list lists the objects of the only kind.
func (v *getView) list(ctx context.Context, namespace string) ([]*object, string, error) {
	if v.served != nil {
		return v.served.list(ctx, namespace, v.selector.String())
	}
	return v.listObjects(ctx, v.kinds[0], namespace, client.MatchingLabelsSelector{Selector: v.selector})
}

// listKinds lists all kinds that this API has and the user may see.
func (v *getView) listKinds(ctx context.Context) ([]*object, error) {
	var objects []*object
	listed := false
	for _, k := range v.kinds {
		some, _, err := v.listObjects(ctx, k, v.namespace, client.MatchingLabelsSelector{Selector: v.selector})
		var unserved *unservedError
		switch {
		case err == nil:
			listed = true
		case apierrors.IsForbidden(err):
			v.news("The %s are left out: %v", k.people(), err)
		case !errors.As(err, &unserved):
			return nil, err
		}
		objects = append(objects, some...)
	}
	if !listed {
		return nil, exitf(exitError, "nothing can be listed here: this API has none of these kinds, or you may not see them")
	}
	return objects, nil
}

// getAll gets the objects that are named.
func (v *getView) getAll(ctx context.Context, keys []types.NamespacedName) ([]*object, error) {
	objects := make([]*object, 0, len(keys))
	for _, key := range keys {
		o, err := v.getOne(ctx, key)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

func (v *getView) getOne(ctx context.Context, key types.NamespacedName) (*object, error) {
	k := v.kinds[0]
	if v.served == nil {
		return v.getObject(ctx, k, key)
	}
	o, err := v.served.get(ctx, key)
	if err != nil {
		return nil, v.objectError("get", k, key, err)
	}
	return o, nil
}

// showObjects shows objects that a command has changed.
func (s *session) showObjects(out *output, objects ...*object) error {
	return (&getView{session: s, answer: out, told: map[string]string{}}).show(objects)
}

// table writes the objects as people read them.
func (v *getView) table(objects []*object) {
	elsewhere := func(o *object) bool { return o.GetNamespace() != v.namespace }
	v.columns.names = v.head(v.namespace == "" || slices.ContainsFunc(objects, elsewhere))
	rows := [][]string{v.columns.names}
	for _, o := range objects {
		rows = append(rows, v.row(o))
	}
	v.columns = fit(rows, v.room(v.out, v.answer))
	for i, row := range rows {
		if i > 0 {
			v.told[objects[i-1].String()] = v.timeless(row)
		}
		if i > 0 || !v.noHeader {
			fmt.Fprintln(v.out, v.columns.line(row))
		}
	}
}

// head names the columns; whether the namespace is one of them stays so for all rows.
func (v *getView) head(namespaces bool) []string {
	if v.any(func(k kind) bool { return k.clusterWide }) {
		return append([]string{"NAME"}, circuitHead...)
	}
	var head []string
	if namespaces {
		head = append(head, "NAMESPACE")
	}
	if v.served != nil {
		return append(head, v.served.heads(v.answer.wide())...)
	}
	head = append(head, "NAME")
	if more := tenantHead(v.kinds[0]); more != nil && len(v.kinds) == 1 {
		return append(head, more...)
	}
	if v.any(func(k kind) bool { return k.source || k.reports && k.gvk != receivers.gvk }) {
		head = append(head, "REVISION")
	}
	reports := v.any(func(k kind) bool { return k.reports })
	if v.any(func(k kind) bool { return k.suspends }) && (v.answer.wide() || !reports) {
		head = append(head, "SUSPENDED")
	}
	if reports {
		head = append(head, "READY", "MESSAGE")
	}
	return head
}

func (v *getView) any(has func(kind) bool) bool { return slices.ContainsFunc(v.kinds, has) }

func (v *getView) row(o *object) []string {
	row := make([]string, 0, len(v.columns.names))
	if v.served != nil {
		for _, name := range v.columns.names {
			cell := o.cells[name]
			if name == "NAMESPACE" {
				cell = o.GetNamespace()
			}
			row = append(row, diagnostic.Printable(cell))
		}
		return row
	}
	cells := v.cells(o)
	for _, name := range v.columns.names {
		row = append(row, oneLine(cells[name]))
	}
	return row
}

// cells are what is in the columns of objects whose table is not the API's.
func (v *getView) cells(o *object) map[string]string {
	if o.kind.clusterWide {
		return circuitCells(o, time.Now())
	}
	name, revision, message := o.GetName(), o.revision(), o.message()
	if len(v.kinds) > 1 {
		name = o.kind.singular() + "/" + name
	}
	if !v.answer.wide() {
		revision, message = shortRevision(revision), o.shortMessage()
	}
	cells := map[string]string{"NAMESPACE": o.GetNamespace(), "NAME": name, "REVISION": revision, "READY": string(o.ready().Status), "MESSAGE": message}
	if o.kind.suspends {
		cells["SUSPENDED"] = "False"
		if o.Spec.Suspend {
			cells["SUSPENDED"] = "True"
		}
	}
	maps.Copy(cells, tenantCells(o))
	return cells
}

// follow tells of every change until the command is interrupted. A watch ends sooner or later; what happened before the
// next one begins is found by listing anew.
func (v *getView) follow(ctx context.Context, keys []types.NamespacedName) error {
	wanted := func(o *object) bool { return v.keep(o) && (len(keys) == 0 || slices.Contains(keys, o.key())) }
	namespace := v.namespace
	if len(keys) > 0 {
		namespace = keys[0].Namespace
		if slices.ContainsFunc(keys, func(key types.NamespacedName) bool { return key.Namespace != namespace }) {
			namespace = ""
		}
	}
	for {
		err := v.patient(ctx, func(ctx context.Context) error {
			objects, version, err := v.list(ctx, namespace)
			if err != nil {
				return err
			}
			for _, o := range objects {
				if wanted(o) {
					v.tell(o)
				}
			}
			return v.watchFrom(ctx, namespace, version, func(event watch.EventType, o *object) {
				switch {
				case !wanted(o):
				case event == watch.Deleted:
					delete(v.told, o.String())
					fmt.Fprintln(v.out, v.columns.line(append(v.row(o)[:len(v.columns.names)-1], "deleted")))
				default:
					v.tell(o)
				}
			})
		})
		if err != nil {
			return err
		}
		if err := pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// watchFrom tells of changes until the watch ends.
func (v *getView) watchFrom(ctx context.Context, namespace, version string, tell func(watch.EventType, *object)) error {
	k := v.kinds[0]
	if v.served != nil {
		return v.served.watch(ctx, namespace, v.selector.String(), version, tell)
	}
	events, err := v.objects.Watch(ctx, k.emptyList(), client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: v.selector},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	if err != nil {
		return fmt.Errorf("watch %s: %w", k.plural, err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		raw, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return ctx.Err()
		}
		o, err := k.object(raw)
		if err != nil {
			return err
		}
		tell(event.Type, o)
	}
	return ctx.Err()
}

// tell writes the row of an object unless it says nothing new.
func (v *getView) tell(o *object) {
	row := v.row(o)
	if says := v.timeless(row); v.told[o.String()] != says {
		v.told[o.String()] = says
		fmt.Fprintln(v.out, v.columns.line(row))
	}
}

// timeless is what a row says beside how old things are, which is no news.
func (v *getView) timeless(row []string) string {
	var kept []string
	for i, cell := range row {
		if name := v.columns.names[i]; name != "AGE" && name != "OPENED" {
			kept = append(kept, cell)
		}
	}
	return strings.Join(kept, "\t")
}
