// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/diagnostic"
)

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
func (s *session) getAll(ctx context.Context, k kind, keys []types.NamespacedName) ([]*object, error) {
	objects := make([]*object, 0, len(keys))
	for _, key := range keys {
		o, err := s.getObject(ctx, k, key)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// table writes the objects as people read them.
func (v *getView) table(objects []*object) {
	elsewhere := func(o *object) bool { return o.GetNamespace() != v.namespace }
	head := v.head(v.namespace == "" || slices.ContainsFunc(objects, elsewhere))
	rows := [][]string{head}
	for _, o := range objects {
		rows = append(rows, v.row(o))
	}
	v.columns = fit(rows)
	if v.told == nil {
		v.told = map[string]string{}
	}
	for i, row := range rows {
		if i == 0 && v.noHeader {
			continue
		}
		text := v.columns.write(v.out, row)
		if i > 0 {
			v.told[objects[i-1].String()] = text
		}
	}
}

// head names the columns; whether the namespace is one of them stays so for all rows.
func (v *getView) head(namespaces bool) []string {
	if v.any(func(k kind) bool { return k.clusterWide }) {
		v.columns.namespaces, v.columns.names = false, append([]string{"NAME"}, circuitHead...)
		return v.columns.names
	}
	v.columns.namespaces = namespaces
	var head []string
	if namespaces {
		head = append(head, "NAMESPACE")
	}
	head = append(head, "NAME")
	if more := tenantHead(v.kinds[0]); more != nil && len(v.kinds) == 1 {
		v.columns.names = append(head, more...)
		return v.columns.names
	}
	if v.any(func(k kind) bool { return k.source || k.reports && k.gvk != receivers.gvk }) {
		head = append(head, "REVISION")
	}
	if v.any(func(k kind) bool { return k.suspends }) {
		head = append(head, "SUSPENDED")
	}
	if v.any(func(k kind) bool { return k.reports }) {
		head = append(head, "READY", "MESSAGE")
	}
	v.columns.names = head
	return head
}

func (v *getView) any(has func(kind) bool) bool { return slices.ContainsFunc(v.kinds, has) }

func (v *getView) row(o *object) []string {
	name := o.GetName()
	if len(v.kinds) > 1 {
		name = o.kind.singular() + "/" + name
	}
	ready := o.ready()
	cells := map[string]string{"NAMESPACE": o.GetNamespace(), "NAME": name, "REVISION": shortRevision(o.revision()), "READY": string(ready.Status), "MESSAGE": o.message()}
	if o.kind.suspends {
		cells["SUSPENDED"] = "False"
		if o.Spec.Suspend {
			cells["SUSPENDED"] = "True"
		}
	}
	if o.kind.clusterWide {
		cells = circuitCells(o, time.Now())
	}
	maps.Copy(cells, tenantCells(o))
	row := make([]string, 0, len(v.columns.names))
	for _, name := range v.columns.names {
		row = append(row, strings.Join(strings.Fields(diagnostic.Printable(cells[name])), " "))
	}
	return row
}

// columns are what stands below each other.
type columns struct {
	names      []string
	namespaces bool
	widths     []int
}

// fit makes columns as wide as what is in them.
func fit(rows [][]string) columns {
	c := columns{names: rows[0], widths: make([]int, len(rows[0]))}
	for _, row := range rows {
		for i, cell := range row {
			c.widths[i] = max(c.widths[i], utf8.RuneCountInString(cell))
		}
	}
	return c
}

// write writes a row, and returns it.
func (c columns) write(w io.Writer, row []string) string {
	var b strings.Builder
	for i, cell := range row {
		b.WriteString(cell)
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", max(c.widths[i]-utf8.RuneCountInString(cell), 0)+3))
		}
	}
	text := strings.TrimRight(b.String(), " ")
	fmt.Fprintln(w, text)
	return text
}

// follow tells of every change until the command is interrupted. A watch ends sooner or later; what happened before the
// next one begins is found by listing anew.
func (v *getView) follow(ctx context.Context, keys []types.NamespacedName) error {
	k := v.kinds[0]
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
			objects, version, err := v.listObjects(ctx, k, namespace, client.MatchingLabelsSelector{Selector: v.selector})
			if err != nil {
				return err
			}
			for _, o := range objects {
				if wanted(o) {
					v.tell(o)
				}
			}
			return v.watchFrom(ctx, k, namespace, version, wanted)
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
func (v *getView) watchFrom(ctx context.Context, k kind, namespace, version string, wanted func(*object) bool) error {
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
		switch {
		case err != nil:
			return err
		case !wanted(o):
		case event.Type == watch.Deleted:
			delete(v.told, o.String())
			v.columns.write(v.out, append(v.row(o)[:len(v.columns.names)-1], "deleted"))
		default:
			v.tell(o)
		}
	}
	return ctx.Err()
}

// tell writes the row of an object unless it says nothing new.
func (v *getView) tell(o *object) {
	row := v.row(o)
	if text := v.columns.write(io.Discard, row); v.told[o.String()] != text {
		v.told[o.String()] = v.columns.write(v.out, row)
	}
}
