// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/ststest"
)

// trusting starts a cloud that trusts the tokens of an API for a subject.
func trusting(t *testing.T, y *yuba, subject string) *ststest.Server {
	t.Helper()
	var published [2][]byte
	for i, path := range []string{"/.well-known/openid-configuration", "/openid/v1/jwks"} {
		out, news, code := y.run(t, "kubectl", "get", "--raw", path)
		if code != 0 {
			t.Fatalf("%s: %s", path, news)
		}
		published[i] = []byte(out)
	}
	return ststest.New(t, "127.0.0.1", published[0], published[1], subject)
}

// loggingIn posts the token of the run to the cloud, once for each phase.
func loggingIn(cloud string) string {
	address := strings.TrimPrefix(cloud, "http://")
	host, port, _ := strings.Cut(address, ":")
	return fmt.Sprintf(`
resource "terraform_data" "login" {
  provisioner "local-exec" {
    interpreter = ["bash", "-c"]
    command     = "exec 3<>/dev/tcp/%s/%s && body=$(cat $CLOUD_TOKEN_FILE) && printf 'POST /apply HTTP/1.0\r\nContent-Length: %%d\r\n\r\n%%s' $${#body} $body >&3 && cat <&3 >/dev/null"
  }
}
`, host, port)
}

// A run logs in to a cloud as its service account, by the variables of that cloud, and no token
// stays anywhere.
func TestARunLogsInWithoutStoredCredentials(t *testing.T) {
	const issuer = "https://tokens.example.com/yuba"
	y := alone(t, "--service-account-issuer", issuer)
	ns := y.namespace(t)
	y.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deployer"}})
	cloud := trusting(t, y, "system:serviceaccount:"+ns+":deployer")
	if cloud.Issuer != issuer {
		t.Errorf("the API publishes the issuer %s", cloud.Issuer)
	}
	obj := inline(ns, "keyless", loggingIn(cloud.URL), auto, func(o *infrav1.Terraform) {
		o.Spec.ServiceAccountName = "deployer"
		o.Spec.IdentityTokens = []infrav1.IdentityToken{{Audience: ststest.Audience, PathEnv: "CLOUD_TOKEN_FILE"}}
	})
	y.create(t, obj)
	seen := y.await(t, obj, "it is applied", ready)
	if granted, refused := cloud.Logins(); granted != 1 || len(refused) > 0 {
		t.Errorf("%d logins, refused: %v", granted, refused)
	}
	for _, w := range seen.Status.Warnings {
		t.Errorf("warning: %s", w)
	}
	// Every such token begins with this. The server's own credentials are not in these directories.
	for _, dir := range []string{"blobs", "work", "runner"} {
		if found := newSearcher(map[string]string{"token": "eyJhbGciOi"}).files(t, filepath.Join(y.dir, dir)); len(found) > 0 {
			t.Errorf("a token is left in %v", found)
		}
	}
}

// What cannot be is said on Ready: a service account that is missing, and the API's own audience,
// with which whoever may write a stack would act as the service account.
func TestTokensThatAreNotIssued(t *testing.T) {
	y, ns := common(t)
	y.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deployer"}})
	for name, test := range map[string]struct{ account, audience, says string }{
		"missing": {"nobody", ststest.Audience, "has no service account nobody. Create it, or set spec.serviceAccountName"},
		"ours":    {"deployer", "https://kubernetes.default.svc", "is that of the API of this Yuba. Name the audience of a cloud"},
	} {
		obj := inline(ns, name, holding("a"), auto, func(o *infrav1.Terraform) {
			o.Spec.ServiceAccountName = test.account
			o.Spec.IdentityTokens = []infrav1.IdentityToken{{Audience: test.audience, PathEnv: "TOKEN_FILE"}}
		})
		y.create(t, obj)
		y.await(t, obj, "it says why", func(o *infrav1.Terraform) bool {
			return strings.Contains(condition(o, infrav1.ConditionReady).Message, test.says)
		})
	}
}
