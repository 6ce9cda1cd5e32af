// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// servedCertificate is what the API shows to somebody who connects now.
func servedCertificate(t *testing.T, p *ControlPlane) *x509.Certificate {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(p.CA())
	connection, err := tls.Dial("tcp", p.Address(), &tls.Config{RootCAs: pool})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0]
}

func TestCertificatesRenewWithoutARestart(t *testing.T) {
	options := testOptions(t.TempDir())
	options.life = lifetimes{certificate: 9 * time.Second, check: 200 * time.Millisecond}
	p := startIn(t, options)
	get, err := p.IssueServerCert("runs", []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	issued, err := get(nil)
	if err != nil {
		t.Fatal(err)
	}
	first := []*x509.Certificate{servedCertificate(t, p), issued.Leaf}
	if err := works(t, fromKubeconfig(t, p.Kubeconfig())); err != nil {
		t.Fatalf("the first kubeconfig: %v", err)
	}
	eventually(t, "the first certificates have expired", func() error {
		for _, certificate := range first {
			if time.Now().Before(certificate.NotAfter.Add(time.Second)) {
				return errors.New("not yet")
			}
		}
		return nil
	})
	if now := servedCertificate(t, p); now.SerialNumber.Cmp(first[0].SerialNumber) == 0 {
		t.Error("the API still serves its first certificate")
	}
	if issued, err = get(nil); err != nil || !time.Now().Before(issued.Leaf.NotAfter) {
		t.Errorf("the issued certificate is valid until %s, error %v", issued.Leaf.NotAfter, err)
	}
	if err := works(t, fromKubeconfig(t, p.Kubeconfig())); err != nil {
		t.Errorf("the kubeconfig of today: %v", err)
	}
	// A new connection to etcd needs both sides' new certificates.
	if len(rawValue(t, p, "/registry/namespaces/default")) == 0 {
		t.Error("etcd has no default namespace")
	}
}

// works makes a request that needs credentials.
func works(t *testing.T, client *kubernetes.Clientset) error {
	t.Helper()
	return client.RESTClient().Get().AbsPath("/api").Do(t.Context()).Error()
}

func TestFullStoreTakesChangesAgain(t *testing.T) {
	options := testOptions(t.TempDir())
	options.etcdQuota, options.etcdUpkeep = 20<<20, 50*time.Millisecond
	p := startIn(t, options)
	maps := clientOf(t, p).CoreV1().ConfigMaps(newNamespace(t, p))
	object, err := maps.Create(t.Context(), configMap("history"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	refused := false
	for i := range 60 {
		object.Data = map[string]string{"content": strings.Repeat(fmt.Sprint(i%10), 900<<10)}
		updated, err := maps.Update(t.Context(), object, metav1.UpdateOptions{})
		if err != nil {
			refused = true
			break
		}
		object = updated
	}
	if !refused {
		t.Log("the store made space before a change was refused")
	}
	eventually(t, "the API takes changes again", func() error {
		_, err := maps.Create(t.Context(), configMap("after"), metav1.CreateOptions{})
		return err
	})
	if got, err := maps.Get(t.Context(), "history", metav1.GetOptions{}); err != nil || got.Data["content"] != object.Data["content"] && !refused {
		t.Errorf("the newest content is lost, error %v", err)
	}
}

func TestAStoreFullOfSecretsSaysSoAndWorksOnceTheyAreDeleted(t *testing.T) {
	options := testOptions(t.TempDir())
	options.etcdQuota, options.etcdUpkeep = 20<<20, 50*time.Millisecond
	p := startIn(t, options)
	namespace := newNamespace(t, p)
	secrets := clientOf(t, p).CoreV1().Secrets(namespace)
	content := map[string][]byte{"content": bytes.Repeat([]byte("x"), 300<<10)}
	for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(p.Trouble(), "Delete objects that are no longer needed"); {
		_, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "s-"}, Data: content}, metav1.CreateOptions{})
		if time.Now().After(deadline) {
			t.Fatalf("it says %q when objects fill the store, and to a change %v", p.Trouble(), err)
		}
	}
	if list, err := secrets.List(t.Context(), metav1.ListOptions{Limit: 1}); err != nil || len(list.Items) == 0 {
		t.Errorf("read while it is full: %v", err)
	}
	if err := secrets.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatalf("delete while it is full: %v", err)
	}
	eventually(t, "the API takes changes again", func() error {
		if _, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "after-"}, Data: content}, metav1.CreateOptions{}); err != nil {
			return err
		}
		if trouble := p.Trouble(); trouble != "" {
			return errors.New(trouble)
		}
		return nil
	})
}
