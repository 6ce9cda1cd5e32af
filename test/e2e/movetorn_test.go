// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/move/steps"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// exported is the content of a home; before the first export, something happens.
type exported struct {
	contents interface {
		Export(ctx context.Context, namespace, name string) (io.ReadCloser, error)
		Archive(ctx context.Context, plural, namespace, name string) (io.ReadCloser, error)
	}
	before func()
}

func (e *exported) Export(ctx context.Context, namespace, name string) (io.ReadCloser, error) {
	if e.before != nil {
		e.before()
		e.before = nil
	}
	return e.contents.Export(ctx, namespace, name)
}

func (e *exported) Archive(ctx context.Context, plural, namespace, name string) (io.ReadCloser, error) {
	return e.contents.Archive(ctx, plural, namespace, name)
}

// A run writes a state while a backup is made. The restored stack has the older state, and stays
// suspended until the newest version is its state.
func TestBackupDuringARunIsRestoredSuspended(t *testing.T) {
	m := newMovers(t)
	const ns = "torn"
	m.a.create(t, namespaceObject(ns))
	base := inline(ns, "base", greeting, variable("name", "world"), auto)
	m.a.create(t, base)
	m.a.await(t, base, "it is ready", ready)
	config, err := kubetest.Config(m.a.kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	side, err := steps.Connect(t.Context(), "a", config)
	if err != nil {
		t.Fatal(err)
	}
	side.Content = &exported{contents: side.Content, before: func() {
		change(t, m.a, base, func(o *infrav1.Terraform) { o.Spec.Vars[0].Value.Raw = []byte(`"again"`) })
		m.a.await(t, base, "it has another state", func(o *infrav1.Terraform) bool {
			return ready(o) && o.Status.StateSerial != nil && *o.Status.StateSerial == 2
		})
	}}
	name := filepath.Join(t.TempDir(), "torn.tar")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := side.Backup(t.Context(), file, []string{ns}, "test", t.Logf); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	_, news := m.b.do(t, "restore", name, "--yes")
	found := regexp.MustCompile(`yuba state rollback base (\S+)`).FindStringSubmatch(news)
	if found == nil {
		t.Fatalf("the restore says:\n%s", news)
	}
	if !m.b.stack(t, ns, "base").Spec.Suspend {
		t.Fatal("it is not suspended")
	}
	m.b.do(t, "state", "rollback", "base", found[1], "-n", ns, "--yes")
	m.b.do(t, "resume", "base", "-n", ns)
	m.b.await(t, base, "it is ready", ready)
	if was, is := firstID(t, m.a.state(t, base)), firstID(t, m.b.state(t, base)); was != is {
		t.Errorf("it was created again: %s, it was %s", is, was)
	}
}
