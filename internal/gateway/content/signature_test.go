// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"encoding/json"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/sealed"
)

// Who administers a namespace gets no signature for an archive with stacks of another one.
func TestAnArchiveIsSignedByWhoMaySignAllItsStacks(t *testing.T) {
	s := newSite(t)
	admin, root := s.as("admin"), s.as("")
	header := func(stacks ...string) []byte {
		data, err := json.Marshal(sealed.Header{Kind: sealed.Kind, Format: sealed.Format, HomeID: "this", Stacks: stacks})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	own, second, foreign := s.namespace+"/vpc", s.namespace+"/dns", "default/vpc"
	eventually(t, func() error { // until the API server knows the role
		_, err := admin.Sign(t.Context(), s.namespace, "vpc", header(own))
		return err
	})
	if _, err := admin.Sign(t.Context(), s.namespace, "vpc", header(own, second)); err != nil {
		t.Errorf("two stacks of the namespace: %v", err)
	}
	if _, err := admin.Sign(t.Context(), s.namespace, "vpc", header(own, foreign)); !apierrors.IsForbidden(err) {
		t.Errorf("a stack of another namespace: %v", err)
	}
	if _, err := root.Sign(t.Context(), s.namespace, "vpc", header(own, foreign)); err != nil {
		t.Errorf("who may sign both: %v", err)
	}
	if _, err := root.Sign(t.Context(), s.namespace, "vpc", header(own, "default")); !apierrors.IsBadRequest(err) {
		t.Errorf("a name that is none: %v", err)
	}
}
