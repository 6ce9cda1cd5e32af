// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// exported is the content of a stack.
func exported(t *testing.T, c *content.Client, s *site) ([]byte, error) {
	t.Helper()
	body, err := c.Export(t.Context(), s.namespace, "vpc")
	if err != nil {
		return nil, err
	}
	defer body.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return data, nil
}

func TestOnlyAdministratorsMoveContent(t *testing.T) {
	s := newSite(t, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	admin := s.as("admin")
	var data []byte
	eventually(t, func() (err error) { // until the API server knows the role
		data, err = exported(t, admin, s)
		return err
	})
	for _, role := range []string{"view", "edit"} {
		if _, err := exported(t, s.as(role), s); !apierrors.IsForbidden(err) {
			t.Errorf("%s exports: %v", role, err)
		}
		if _, err := s.as(role).Import(t.Context(), s.namespace, "vpc", bytes.NewReader(data)); !apierrors.IsForbidden(err) {
			t.Errorf("%s imports: %v", role, err)
		}
	}
	if _, err := admin.Import(t.Context(), s.namespace, "vpc", bytes.NewReader(data)); err != nil {
		t.Errorf("an administrator may not import: %v", err)
	}
	if _, ok := imported.Load(run.StackOf(s.stack)); !ok {
		t.Error("the import was not reported")
	}
}

func TestContentIsImportedOnlyIntoSuspendedStacks(t *testing.T) {
	s := newSite(t, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	data, err := exported(t, s.as(""), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.as("").Import(t.Context(), s.namespace, "vpc", strings.NewReader("hello")); !apierrors.IsBadRequest(err) {
		t.Errorf("bad content: %v", err)
	}
	before := s.stack.DeepCopy()
	s.stack.Spec.Suspend = false
	if err := apitest.Client(t).Patch(t.Context(), s.stack, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.as("").Import(t.Context(), s.namespace, "vpc", bytes.NewReader(data)); !apierrors.IsConflict(err) {
		t.Errorf("a stack that works: %v", err)
	}
}

// slowly reads content, and does something in its middle.
type slowly struct {
	io.Reader
	then func()
}

func (s *slowly) Read(p []byte) (int, error) {
	if s.then != nil {
		s.then()
		s.then = nil
	}
	return s.Reader.Read(p)
}

func TestAStackThatWorksAgainDuringAnImportGetsNothing(t *testing.T) {
	s := newSite(t, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	if err := s.blobs.PutBytes(t.Context(), run.StackOf(s.stack).LockFileKey(), []byte("the lock file")); err != nil {
		t.Fatal(err)
	}
	data, err := exported(t, s.as(""), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.blobs.Delete(t.Context(), run.StackOf(s.stack).LockFileKey()); err != nil {
		t.Fatal(err)
	}
	half := len(data) / 2
	resume := func() {
		before := s.stack.DeepCopy()
		s.stack.Spec.Suspend = false
		if err := apitest.Client(t).Patch(t.Context(), s.stack, client.MergeFrom(before)); err != nil {
			t.Error(err)
		}
	}
	body := io.MultiReader(bytes.NewReader(data[:half]), &slowly{bytes.NewReader(data[half:]), resume})
	if _, err := s.as("").Import(t.Context(), s.namespace, "vpc", body); !apierrors.IsConflict(err) {
		t.Errorf("the import: %v", err)
	}
	if found, err := s.blobs.Exists(t.Context(), run.StackOf(s.stack).LockFileKey()); found || err != nil {
		t.Errorf("it was published: %v (%v)", found, err)
	}
}
