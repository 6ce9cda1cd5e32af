// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vault_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/secrets/decide"
	"github.com/yuba-dev/yuba/internal/secrets/keep"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/secretstest"
	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

// A stack may run longer than a turn lasts: the turn is renewed, and nothing else changes.
func TestATurnIsRenewed(t *testing.T) {
	now := time.Now()
	place := &keep.Object{Client: apitest.Client(t), Namespace: apitest.Namespace(t), Secret: "shop", Now: func() time.Time { return now }}
	d := decide.Document{Values: map[string]decide.Value{"db": "s3cret"}, Book: decide.Book{Rotation: &decide.Rotation{Names: []string{"db"}, Queue: []string{"shop/db", "shop/app"}}}}
	if err := place.Write(t.Context(), d, ""); err != nil {
		t.Fatal(err)
	}
	read := func() (turn infrav1.SecretTurn, data map[string][]byte) {
		var s corev1.Secret
		if err := place.Client.Get(t.Context(), client.ObjectKey{Namespace: place.Namespace, Name: "shop"}, &s); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(s.Annotations[infrav1.AnnotationTurn]), &turn); err != nil {
			t.Fatal(err)
		}
		return turn, s.Data
	}
	before, data := read()
	now = now.Add(20 * time.Minute)
	if err := place.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, same := read()
	if after.Until.Sub(before.Until) != 20*time.Minute || after.Runs != "shop/db" || len(after.Waiting) != 1 || !maps.EqualFunc(data, same, bytes.Equal) {
		t.Errorf("before %+v, after %+v", before, after)
	}
	d.Book.Rotation = nil
	_, tag, err := place.Read(t.Context())
	if err := errors.Join(err, place.Write(t.Context(), d, tag), place.Renew(t.Context())); err != nil {
		t.Errorf("without a rotation: %v", err)
	}
}

// The secrets of an environment are kept in a Secret of Kubernetes, and in Vault.
func TestPlacesOfSecrets(t *testing.T) {
	v := vaulttest.New(t)
	for name, place := range map[string]keep.Place{
		"kubernetes": &keep.Object{Client: apitest.Client(t), Namespace: apitest.Namespace(t), Secret: "shop", Now: time.Now},
		"vault":      &keep.JSON{Store: &store.Vault{Address: v.URL, Path: "shop/staging", Token: v.Token}},
	} {
		t.Run(name, func(t *testing.T) { secretstest.Conform(t, place) })
	}
}
