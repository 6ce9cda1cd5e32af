// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealed_test

import (
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/sealed"
)

// A home has signed the header, whose author alone made the index.
func TestAnIndexHasTheStacksThatWereSigned(t *testing.T) {
	other := sealed.Stack{Namespace: "prod", Name: "bank", Dir: "stacks/prod/bank"}
	for sentence, stacks := range map[string][]sealed.Stack{
		"another stack": {other},
		"one more":      {vpc[0], other},
		"one twice":     {vpc[0], vpc[0]},
		"none":          nil,
	} {
		t.Run(sentence, func(t *testing.T) {
			p := newParty(t)
			w, err := sealed.NewWriter(t.Context(), p.to, t.TempDir(), time.Unix(1, 0))
			if err != nil {
				t.Fatal(err)
			}
			if err := w.AddBytes("a", []byte("b")); err != nil {
				t.Fatal(err)
			}
			w.Index.Stacks = stacks
			s, err := w.Close(sealed.Header{HomeID: homeID, Stacks: []string{"team/vpc"}}, sign)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := readAll(t, bytesOf(t, s), p.identity); err == nil || !strings.Contains(err.Error(), "not those of its signed") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
