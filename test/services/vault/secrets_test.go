// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vault_test

import (
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/secrets/keep"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/secretstest"
	"github.com/yuba-dev/yuba/internal/testkit/vaulttest"
)

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
