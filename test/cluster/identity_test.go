// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/ststest"
)

// nodeAddress is an address of this machine that Pods reach.
func nodeAddress(t *testing.T) string {
	t.Helper()
	nodes, err := raw.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, a := range nodes.Items[0].Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	t.Fatal("the node has no address")
	return ""
}

// The token is the Pod's own: it names the stack's service account and the cloud's audience.
func TestARunInAPodLogsInWithoutStoredCredentials(t *testing.T) {
	t.Parallel()
	var published [2][]byte
	for i, path := range []string{"/.well-known/openid-configuration", "/openid/v1/jwks"} {
		text, err := raw.Discovery().RESTClient().Get().AbsPath(path).DoRaw(t.Context())
		must(t, err)
		published[i] = text
	}
	tm := newTeam(t, true)
	tm.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "deployer"}})
	cloud := ststest.New(t, nodeAddress(t), published[0], published[1], "system:serviceaccount:"+tm.name+":deployer")
	tm.deploy("keyless", fmt.Sprintf(`
resource "terraform_data" "login" {
  provisioner "local-exec" { command = "wget -q -O /dev/null --post-file=$CLOUD_TOKEN_FILE %s/apply" }
}`, cloud.URL), func(s *infrav1.TerraformSpec) {
		s.ServiceAccountName = "deployer"
		s.IdentityTokens = []infrav1.IdentityToken{{Audience: ststest.Audience, PathEnv: "CLOUD_TOKEN_FILE"}}
	})
	tm.await("keyless", "it is applied", applied)
	if granted, refused := cloud.Logins(); granted != 1 || len(refused) > 0 {
		t.Errorf("%d logins, refused: %v", granted, refused)
	}
}
