// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestTheControllersEndWhenSomebodyElseStarts(t *testing.T) {
	c := apitest.Client(t)
	kinds, err := servedSources(c.RESTMapper())
	if err != nil {
		t.Fatal(err)
	}
	living := func(name string) *coordinationv1.Lease {
		return lease("", name, "pod-1", time.Now(), ptr.To(int32(600)))
	}
	for sentence, test := range map[string]struct {
		lease  *coordinationv1.Lease
		gitops bool
		says   string
	}{
		"Flux, beside Yuba's own sources": {living("kustomize-controller-leader-election"), true, "kustomize-controller is running"},
		"Flux":                            {living("source-controller-leader-election"), false, ""},
		"tofu-controller":                 {living("tofu-controller-" + tofuControllerLease), false, "scale deployment tofu-controller --replicas=0"},
		"nobody":                          {living("another"), true, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			opts := ControllerOptions{Common: Common{GitOps: test.gitops}}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- opts.watchLatecomers(ctx, c, kinds, 50*time.Millisecond) }()
			quietly := func() {
				t.Helper()
				select {
				case err := <-ended:
					t.Fatalf("it ended: %v", err)
				case <-time.After(300 * time.Millisecond):
				}
			}
			quietly()
			test.lease.Namespace = apitest.Namespace(t)
			if err := c.Create(t.Context(), test.lease); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Delete(context.Background(), test.lease) }) //nolint:errcheck // goes with the API
			if test.says == "" {
				quietly()
				cancel()
				if err := <-ended; err != nil {
					t.Errorf("at the end: %v", err)
				}
				return
			}
			defer cancel()
			if err := <-ended; err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Flux may be installed after Yuba.
func TestTheControllersEndWhenTheAPIServesMoreKindsOfSources(t *testing.T) {
	c := apitest.Client(t)
	if why := new(ControllerOptions).latecomer(t.Context(), c, nil); !strings.Contains(why, "the API now serves the kind ExternalArtifact. Yuba restarts") {
		t.Errorf("got %q", why)
	}
}
