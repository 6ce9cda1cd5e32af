// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/yuba-dev/yuba/internal/home/pki"
	"github.com/yuba-dev/yuba/internal/platform/vaultinit"
)

// keepsSecrets applies the module vault, initialises Vault for offline recipients, and unseals it with their shares after a restart.
func (w *world) keepsSecrets() {
	w.t.Helper()
	w.importVault("docker.io/hashicorp/vault:1.21.4")
	v := w.vault("vault", 1)
	variables := map[string]any{"platform": "acme-eu", "kubeconfig": w.inline, "ca": string(v.authority),
		"server": map[string]any{"tls_secret": "vault-tls", "image_pull_policy": "Never", "storage": "1Gi", "storage_class": "machine"}}
	w.apply("vault", "vault", variables)

	w.kubectl("-n", "vault", "wait", "pod/vault-0", "--for=create", "--timeout=60s")
	w.kubectl("-n", "vault", "wait", "pod/vault-0", "--for=condition=Ready", "--timeout=60s")
	v.forward()
	init := v.init("--address", v.url)
	var done vaultinit.Outcome
	if out := w.must("", "yuba", init...); json.Unmarshal([]byte(out), &done) != nil || done.Verb != vaultinit.VerbInit || !done.RootTokenRevoked || done.Threshold != 2 || done.Version != "1.21.4" {
		w.t.Errorf("the initialisation says %s", out)
	}
	if out := w.must("", "yuba", init...); json.Unmarshal([]byte(out), &done) != nil || done.Verb != vaultinit.VerbNothing {
		w.t.Errorf("the second one says %s", out)
	}
	w.kubectl("-n", "vault", "wait", "pod/vault-0", "--for=condition=Ready", "--timeout=60s")
	w.say("Vault " + done.Version + " is initialised, once, and ready")
	v.logins()
	w.say("External Secrets' account reads secrets, another one cannot log in")

	v.renewed()
	w.kubectl("-n", "vault", "delete", "pod", "vault-0")
	w.eventually(time.Minute, "Vault runs again, sealed", func() error {
		out, err := w.run("", "yuba", "kubectl", "-n", "vault", "get", "pod", "vault-0", "-o", `jsonpath={.status.phase} {.status.containerStatuses[?(@.name=="vault")].ready}`)
		if err == nil && out != "Running false" {
			err = errors.New(out)
		}
		return err
	})
	v.forward()
	if _, out := v.ask(http.MethodGet, "sys/seal-status", "", nil); out["sealed"] != true {
		w.t.Errorf("Vault is not sealed after a restart: %v", out)
	}
	v.unseal()
	w.kubectl("-n", "vault", "wait", "pod/vault-0", "--for=condition=Ready", "--timeout=60s")
	w.say("two of three recipients have unsealed it after a restart")
	// The API would refuse another size of the volume.
	variables["server"].(map[string]any)["storage"] = "2Gi"
	w.apply("vault", "vault", variables)
	if out, err := w.tofu("vault", "plan", "-no-color", "-input=false", "-detailed-exitcode"); err != nil {
		w.t.Errorf("the module vault has changes after all that: %v\n%s", err, out)
	}
}

// vault is a Vault of the node.
type vault struct {
	*world
	namespace, file, ca string
	// url is where pod is reached.
	pod, url   string
	forwards   map[string]forward
	issuer     *pki.Authority
	authority  []byte
	identities []*age.X25519Identity
}

// externalSecrets is the release whose kinds the module needs; its controller is not part of this test.
const externalSecrets = "github.com/external-secrets/external-secrets@v0.20.4"

// vault makes what exists before a Vault: its volumes and certificate, the recipients of its keys, and the kinds and the account of
// External Secrets.
func (w *world) vault(namespace string, servers int) *vault {
	w.t.Helper()
	base := filepath.Join(w.dir, namespace)
	v := &vault{world: w, namespace: namespace, pod: "vault-0", file: base + "-keys.json", ca: base + "-ca.crt", forwards: map[string]forward{}}
	var found struct{ Dir string }
	if out := v.golang("mod", "download", "-json", externalSecrets); json.Unmarshal([]byte(out), &found) != nil || found.Dir == "" {
		v.t.Fatal(out)
	}
	v.kubectl("apply", "--server-side", "-f", filepath.Join(found.Dir, "config", "crds", "bases", "external-secrets.io_clustersecretstores.yaml"))
	authority, err := pki.OpenAuthority(base+"-ca", "vault", time.Now())
	if err != nil {
		v.t.Fatal(err)
	}
	v.issuer, v.authority = authority, authority.PEM()
	v.write(v.ca, string(v.authority))
	v.object("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + namespace + "}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: external-secrets}\n")
	v.object("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: external-secrets, namespace: external-secrets}\n")
	v.certify("first")
	for i := range servers {
		data := fmt.Sprintf("%s-data-%d", base, i)
		if err := errors.Join(os.Mkdir(data, 0o700), os.Chown(data, 100, 1000)); err != nil {
			v.t.Fatal(err)
		}
		v.object(volume(fmt.Sprintf("%s-%d", namespace, i), fmt.Sprintf("data-vault-%d", i), namespace, data))
	}
	for range 3 {
		identity, err := age.GenerateX25519Identity()
		if err != nil {
			v.t.Fatal(err)
		}
		v.identities = append(v.identities, identity)
	}
	return v
}

// init are the arguments of "yuba vault init" for three recipients.
func (v *vault) init(more ...string) []string {
	args := []string{"vault", "init", "--ca-file", v.ca, "--key-file", v.file, "--external-secrets", "external-secrets/external-secrets", "-o", "json"}
	for _, identity := range v.identities {
		args = append(args, "-r", identity.Recipient().String())
	}
	return append(args, more...)
}

// certify gives Vault a certificate, as cert-manager does.
func (v *vault) certify(name string) {
	v.t.Helper()
	leaf := pki.Leaf{Base: filepath.Join(v.dir, v.namespace+"-"+name), CommonName: name, Hosts: []string{"vault." + v.namespace + ".svc", "127.0.0.1"}, Life: time.Hour}
	if _, err := v.issuer.Keep(leaf, time.Now()); err != nil {
		v.t.Fatal(err)
	}
	v.object(v.kubectl("-n", v.namespace, "create", "secret", "tls", "vault-tls", "--cert", leaf.CertificateFile(), "--key", leaf.KeyFile(), "--dry-run=client", "-o", "yaml"))
}

// renewed renews the certificate. Vault must serve the new one, and stay unsealed.
func (v *vault) renewed() {
	v.t.Helper()
	v.certify("second")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(v.authority)
	v.eventually(3*time.Minute, "Vault serves its new certificate", func() error {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(v.url, "https://"), &tls.Config{RootCAs: roots})
		if err != nil {
			v.forward()
			return err
		}
		defer conn.Close() //nolint:errcheck // it was only read
		if name := conn.ConnectionState().PeerCertificates[0].Subject.CommonName; name != "second" {
			return fmt.Errorf("it is the %s one", name)
		}
		return nil
	})
	if _, out := v.ask(http.MethodGet, "sys/seal-status", "", nil); out["sealed"] != false {
		v.t.Errorf("Vault with the new certificate: %v", out)
	}
	v.say("Vault serves its renewed certificate, unsealed")
}

// forward reaches the server that is asked.
func (v *vault) forward() {
	v.t.Helper()
	v.url = v.reach(v.pod)
}

// reach forwards a port of this machine to a server, as an operator does, and returns its address, which stays the same.
func (v *vault) reach(pod string) string {
	v.t.Helper()
	before := v.forwards[pod]
	if before.cmd != nil {
		_, _ = before.cmd.Process.Kill(), before.cmd.Wait()
	}
	cmd := v.command("yuba", "kubectl", "-n", v.namespace, "port-forward", "pod/"+pod, before.port+":8200")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	from, ok := strings.CutPrefix(line, "Forwarding from ")
	if from, _, _ = strings.Cut(from, " "); err != nil || !ok {
		v.t.Fatalf("port-forward says %q: %v", line, err)
	}
	v.forwards[pod] = forward{cmd: cmd, port: from[strings.LastIndex(from, ":")+1:]}
	return "https://" + from
}

// forward is a running port-forward.
type forward struct {
	cmd  *exec.Cmd
	port string
}

// ask sends a request to Vault over TLS that it verifies. A forwarding ends for good when the Pod resets a connection, as when it
// closes one that the client has closed.
func (v *vault) ask(method, path, token string, body any) (int, map[string]any) {
	v.t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(v.authority)
	text, err := json.Marshal(body)
	if err != nil {
		v.t.Fatal(err)
	}
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
	send := func() (*http.Response, error) {
		request, err := http.NewRequestWithContext(v.t.Context(), method, v.url+"/v1/"+path, bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		request.Header.Set("X-Vault-Token", token)
		return client.Do(request)
	}
	answer, err := send()
	for attempt := 0; err != nil && attempt < 3; attempt++ {
		v.forward()
		answer, err = send()
	}
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	out := map[string]any{}
	json.NewDecoder(answer.Body).Decode(&out) //nolint:errcheck // some answers have no body
	return answer.StatusCode, out
}

// login logs in with a token of the cluster.
func (v *vault) login(namespace, account string) (code int, token string) {
	v.t.Helper()
	jwt := strings.TrimSpace(v.kubectl("-n", namespace, "create", "token", account))
	code, out := v.ask(http.MethodPost, "auth/kubernetes/login", "", map[string]string{"role": "external-secrets", "jwt": jwt})
	auth, _ := out["auth"].(map[string]any)
	token, _ = auth["client_token"].(string)
	return code, token
}

// logins checks who can log in with a token of the cluster, and to what.
func (v *vault) logins() {
	v.t.Helper()
	if code, _ := v.login("default", "default"); code != http.StatusForbidden {
		v.t.Errorf("another account logs in: %d", code)
	}
	code, token := v.login("external-secrets", "external-secrets")
	if code != http.StatusOK {
		v.t.Fatalf("External Secrets logs in: %d", code)
	}
	for path, want := range map[string]int{"secret/data/missing": http.StatusNotFound, "sys/mounts": http.StatusForbidden} {
		if code, _ := v.ask(http.MethodGet, path, token, nil); code != want {
			v.t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
}

// unseal gives Vault the shares of two recipients, which only their identities decrypt.
func (v *vault) unseal() {
	v.t.Helper()
	text, err := os.ReadFile(v.file)
	if err != nil {
		v.t.Fatal(err)
	}
	var keys vaultinit.File
	if err := json.Unmarshal(text, &keys); err != nil || len(keys.Shares) != 3 || keys.RootToken != "" {
		v.t.Fatalf("the key file: %v: %s", err, text)
	}
	for i, identity := range v.identities[:2] {
		share, err := age.Decrypt(armor.NewReader(strings.NewReader(keys.Shares[i].Sealed)), identity)
		if err != nil {
			v.t.Fatal(err)
		}
		var key bytes.Buffer
		if _, err := key.ReadFrom(share); err != nil {
			v.t.Fatal(err)
		}
		if strings.Contains(string(text), key.String()) {
			v.t.Error("the key file has a share in clear text")
		}
		if _, err := age.Decrypt(armor.NewReader(strings.NewReader(keys.Shares[i].Sealed)), v.identities[2]); err == nil {
			v.t.Error("a recipient decrypts the share of another one")
		}
		code, out := v.ask(http.MethodPost, "sys/unseal", "", map[string]string{"key": key.String()})
		if sealed, _ := out["sealed"].(bool); code != http.StatusOK || sealed != (i == 0) {
			v.t.Errorf("share %d: %d %v", i+1, code, out)
		}
	}
}

// volume is a volume on this machine, and the claim that it is for.
func volume(name, claim, namespace, path string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: machine
  persistentVolumeReclaimPolicy: Retain
  claimRef: {name: %s, namespace: %s}
  hostPath: {path: %s, type: Directory}
`, name, claim, namespace, path)
}
