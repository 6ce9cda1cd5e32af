// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/cli/session"
)

// asTable requests the table that kubectl prints, which the CustomResourceDefinition defines.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// servedTable reads objects of one kind together with their rows in the API's table.
type servedTable struct {
	session *session.Session
	client  rest.Interface
	kind    session.Kind
	columns []metav1.TableColumnDefinition
}

func openTable(s *session.Session, k session.Kind) (*servedTable, error) {
	config := rest.CopyConfig(s.Config)
	gv := k.GVK.GroupVersion()
	config.GroupVersion, config.APIPath = &gv, "/apis"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	return &servedTable{session: s, client: c, kind: k}, nil
}

func (t *servedTable) request(namespace string) *rest.Request {
	return t.client.Get().Namespace(namespace).Resource(t.kind.Plural).SetHeader("Accept", asTable).Param("includeObject", string(metav1.IncludeObject))
}

func (t *servedTable) get(ctx context.Context, k session.Kind, key types.NamespacedName) (*session.Object, error) {
	objects, _, err := t.read(ctx, t.request(key.Namespace).Name(key.Name))
	if err == nil && len(objects) == 0 {
		err = apierrors.NewNotFound(k.GVK.GroupVersion().WithResource(k.Plural).GroupResource(), key.Name)
	}
	if err != nil {
		return nil, t.session.ObjectError("get", k, key, err)
	}
	return objects[0], nil
}

// list reads the objects of a namespace, or of all, and the version of the list, for a watch.
func (t *servedTable) list(ctx context.Context, namespace, selector string) ([]*session.Object, string, error) {
	objects, version, err := t.read(ctx, t.request(namespace).Param("labelSelector", selector))
	if apierrors.IsNotFound(err) {
		err = &session.UnservedError{Kind: t.kind}
	} else if err != nil {
		err = fmt.Errorf("list %s: %w", t.kind.Plural, err)
	}
	return objects, version, err
}

func (t *servedTable) read(ctx context.Context, request *rest.Request) ([]*session.Object, string, error) {
	data, err := request.Do(ctx).Raw()
	if err != nil {
		return nil, "", err
	}
	return t.decode(data)
}

// decode reads a table. Only the first answer names the columns.
func (t *servedTable) decode(data []byte) ([]*session.Object, string, error) {
	var table metav1.Table
	if err := json.Unmarshal(data, &table); err != nil {
		return nil, "", fmt.Errorf("read the table of %s: %w", t.kind.Plural, err)
	}
	if len(table.ColumnDefinitions) > 0 {
		t.columns = table.ColumnDefinitions
	}
	objects := make([]*session.Object, 0, len(table.Rows))
	for _, row := range table.Rows {
		raw := &unstructured.Unstructured{}
		if err := json.Unmarshal(row.Object.Raw, &raw.Object); err != nil {
			return nil, "", fmt.Errorf("read the table of %s: %w", t.kind.Plural, err)
		}
		o, err := t.kind.Object(raw)
		if err != nil {
			return nil, "", err
		}
		o.Cells = map[string]string{}
		for i, cell := range row.Cells {
			if cell != nil && i < len(t.columns) {
				o.Cells[head(t.columns[i])] = firstOfLines(fmt.Sprint(cell))
			}
		}
		objects = append(objects, o)
	}
	return objects, table.ResourceVersion, nil
}

// firstOfLines is the first line of a cell, as kubectl prints it.
func firstOfLines(text string) string {
	if i := strings.IndexAny(text, "\f\n\r"); i >= 0 {
		return text[:i] + "..."
	}
	return text
}

func head(c metav1.TableColumnDefinition) string { return strings.ToUpper(c.Name) }

// heads names the columns, with or without those of -o wide.
func (t *servedTable) heads(wide bool) []string {
	var names []string
	for _, c := range t.columns {
		if c.Priority == 0 || wide {
			names = append(names, head(c))
		}
	}
	return names
}

// watch reports changes after a version until the watch ends.
func (t *servedTable) watch(ctx context.Context, namespace, selector, version string, tell func(watch.EventType, *session.Object)) error {
	stream, err := t.request(namespace).Param("labelSelector", selector).Param("resourceVersion", version).Param("watch", "true").Stream(ctx)
	if err != nil {
		return fmt.Errorf("watch %s: %w", t.kind.Plural, err)
	}
	defer stream.Close() //nolint:errcheck // read only
	for events := json.NewDecoder(stream); ; {
		var event metav1.WatchEvent
		if err := events.Decode(&event); err != nil {
			if ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return ctx.Err()
			}
			return fmt.Errorf("watch %s: %w", t.kind.Plural, err)
		}
		if event.Type == string(watch.Error) {
			return ctx.Err()
		}
		objects, _, err := t.decode(event.Object.Raw)
		if err != nil {
			return err
		}
		for _, o := range objects {
			tell(watch.EventType(event.Type), o)
		}
	}
}
