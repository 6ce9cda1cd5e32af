// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// things are Secrets and ConfigMaps of a test.
type things struct {
	secrets    map[string]map[string][]byte
	configMaps map[string]map[string]string
}

func (t things) Secret(_ context.Context, name string) (map[string][]byte, error) {
	if data, has := t.secrets[name]; has {
		return data, nil
	}
	return nil, fmt.Errorf("read Secret %s: %w", name, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name))
}

func (t things) ConfigMap(_ context.Context, name string) (map[string]string, error) {
	if data, has := t.configMaps[name]; has {
		return data, nil
	}
	return nil, fmt.Errorf("read ConfigMap %s: %w", name, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name))
}

// null is NULL in what tests expect.
const null = "NULL"

// plain are the rows of a reading as texts.
func plain(reading *Reading) []map[string]string {
	all := []map[string]string{}
	for _, row := range reading.Rows {
		texts := map[string]string{}
		for column, value := range row {
			texts[column] = null
			if value != nil {
				texts[column] = *value
			}
		}
		all = append(all, texts)
	}
	return all
}

// column is one column of a reading, in its order.
func column(reading *Reading, name string) []string {
	values := []string{}
	for _, row := range plain(reading) {
		values = append(values, row[name])
	}
	return values
}

func mustOpen(t *testing.T, spec tenantv1.DataSource, secrets Secrets, opts Options) Source {
	t.Helper()
	source, err := Open(context.Background(), spec, secrets, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { source.Close() })
	return source
}

func mustRead(t *testing.T, source Source, q Query) *Reading {
	t.Helper()
	reading, err := source.Read(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

// wantError checks the class of an error and some words of it.
func wantError(t *testing.T, err error, class Class, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", class)
	}
	var known *Error
	if !errors.As(err, &known) {
		t.Fatalf("%v is not an error of this package", err)
	}
	if known.Class != class {
		t.Errorf("%v is of class %s, want %s", err, known.Class, class)
	}
	if known.Doing == "" {
		t.Errorf("%v does not say what was attempted", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not say %q", err, word)
		}
	}
}
