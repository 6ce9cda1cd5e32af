// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"fmt"
	"strings"
	"testing"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/testkit/cloudtest"
)

// A store that does not answer holds a worker only for a while.
func TestASlowStoreIsLeft(t *testing.T) {
	w := newWorld(t)
	w.apply(`
kind: SecretStore
metadata: {name: slow}
spec: {provider: {vault: {server: "` + shared.slow.URL + `", path: secret, auth: {tokenSecretRef: {name: credentials, key: token}}}}}`)
	w.apply(`
kind: ExternalSecret
metadata: {name: slow}
spec: {secretStoreRef: {name: slow}, dataFrom: [{extract: {key: shop}}]}`)
	w.await("slow", externalv1.ReasonSecretSyncedError, "a refresh may last "+patience.String())
	w.ready("slow", externalv1.ReasonValidationFailed)
}

// The secrets of an ExternalSecret are bounded together, however it names them.
func TestLargeSecretsAreRefused(t *testing.T) {
	w := newWorld(t)
	var data []string
	for i := range 10 {
		name := fmt.Sprintf("%s-%d", w.namespace, i)
		shared.google.Set(name, strings.Repeat("x", 500_000), nil)
		data = append(data, fmt.Sprintf("{secretKey: s%d, remoteRef: {key: %s}}", i, name))
	}
	w.apply(`
kind: SecretStore
metadata: {name: google}
spec: {provider: {gcpsm: {projectID: ` + cloudtest.Project + `, auth: {secretRef: {secretAccessKeySecretRef: {name: credentials, key: google}}}}}}`)
	w.apply(`
kind: ExternalSecret
metadata: {name: large}
spec:
  secretStoreRef: {name: google}
  data: [` + strings.Join(data, ", ") + `]`)
	w.await("large", externalv1.ReasonSecretSyncedError, "the secrets have more than 4194304 bytes together")
}
