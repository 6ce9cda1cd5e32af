// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// company is the Lease by which controllers know of each other, as held; nil means that there is
// none.
func company(t *testing.T, held *coordinationv1.Lease) client.Client {
	t.Helper()
	c := apitest.Client(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: content.ConfigMapNamespace}}
	if err := c.Create(t.Context(), ns); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	old := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: content.ConfigMapNamespace, Name: companyName}}
	if err := client.IgnoreNotFound(c.Delete(t.Context(), old)); err != nil {
		t.Fatal(err)
	}
	if held != nil {
		if err := c.Create(t.Context(), held); err != nil {
			t.Fatal(err)
		}
	}
	// Other tests' controllers work on the same API.
	t.Cleanup(func() { c.Delete(context.Background(), old.DeepCopy()) }) //nolint:errcheck // goes with the API
	return c
}

func holderOf(t *testing.T, c client.Client) string {
	t.Helper()
	var l coordinationv1.Lease
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: content.ConfigMapNamespace, Name: companyName}, &l); err != nil {
		t.Fatal(err)
	}
	return *l.Spec.HolderIdentity
}

func TestOneYubaWorksOnAnAPI(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		held    *coordinationv1.Lease
		refused string
	}{
		"nobody has been here":           {nil, ""},
		"one that is alive":              {lease(content.ConfigMapNamespace, companyName, "other", now, nil), "another Yuba works on this API: other"},
		"one that is gone":               {lease(content.ConfigMapNamespace, companyName, "other", now.Add(-2*alone.lease), nil), ""},
		"one that gave the Lease back":   {lease(content.ConfigMapNamespace, companyName, "", now, nil), ""},
		"this one, before it was killed": {lease(content.ConfigMapNamespace, companyName, "self", now, nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := company(t, test.held)
			err := claimAPI(t.Context(), c, candidate{identity: "self", tenure: alone}, now)
			switch {
			case test.refused == "" && err != nil:
				t.Fatal(err)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
				t.Fatalf("%v", err)
			case test.refused == "":
				// The Lease says so before anything is done.
				if got := holderOf(t, c); got != "self" {
					t.Errorf("the Lease is held by %q", got)
				}
			}
		})
	}
}

func TestOfSeveralThatStartTogetherOneWorks(t *testing.T) {
	now := time.Now()
	c := company(t, lease(content.ConfigMapNamespace, companyName, "gone", now.Add(-2*alone.lease), nil))
	const count = 4
	errs := make([]error, count)
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() {
			errs[i] = claimAPI(t.Context(), c, candidate{identity: fmt.Sprint("yuba-", i), tenure: alone}, now)
		})
	}
	all.Wait()
	holder := holderOf(t, c)
	for i, err := range errs {
		if won := holder == fmt.Sprint("yuba-", i); won != (err == nil) {
			t.Errorf("yuba-%d: %v, and the Lease is held by %s", i, err, holder)
		}
	}
}
