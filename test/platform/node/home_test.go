// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// callHomeName is the Service of the chart, which its certificate names.
const callHomeName = "yuba-call-home.yuba-system.svc"

// takesCalls applies the module yuba with a call home, makes a platform there, and lets a Pod do what its first machine does.
func (w *world) takesCalls() {
	w.t.Helper()
	w.importYuba()
	data := filepath.Join(w.dir, "yuba-data")
	if err := errors.Join(os.Mkdir(data, 0o700), os.Chown(data, 65532, 65532)); err != nil {
		w.t.Fatal(err)
	}
	manifests := filepath.Join(w.modules, "yuba", "manifests")
	w.write(filepath.Join(manifests, "kinds.yaml"), w.must("", "yuba", "crds", "print"))
	w.write(filepath.Join(manifests, "volume.yaml"), volume("yuba", "yuba", "yuba-system", data)+`---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: yuba, namespace: yuba-system}
spec: {storageClassName: machine, accessModes: [ReadWriteOnce], volumeName: yuba, resources: {requests: {storage: 1Gi}}}
`)
	w.write(filepath.Join(manifests, "yuba.yaml"), w.must("", "helm", "template", "yuba", "charts/yuba", "--namespace", "yuba-system", "--no-hooks",
		"--set", "image.tag="+tag+",image.pullPolicy=Never,runner.image.tag="+tag+",runner.image.pullPolicy=Never,eventsAddress=,persistence.existingClaim=yuba",
		"--set", "callHome.url=https://"+callHomeName+":7448,callHome.service.type=ClusterIP"))
	w.apply("yuba", "yuba", map[string]any{"platform": "acme-eu", "kubeconfig": w.inline})

	w.object(platform)
	c := w.machines()
	w.say("a platform waits for its first machine")
	w.calls(c)
	w.say("a Pod has brought a kubeconfig through the Service")
	w.onlyOnce(c)
	w.say("the token is spent, and nobody else is heard")
}

// platform has one phase, whose machines are the Pod of this test.
const platform = `apiVersion: yuba.dev/v1alpha1
kind: Platform
metadata: {name: acme, namespace: default}
spec:
  organization: {name: acme}
  domain: {fqdn: acme.example.org}
  regions: [{name: eu, provider: pods}]
  phases:
  - name: machines
    module:
      inline:
        main.tf: |
          variable "call_home" { type = object({ url = string, ca = string }) }
          variable "call_home_token" {
            type      = string
            default   = ""
            sensitive = true
          }
          variable "join_token" {
            type      = string
            sensitive = true
          }
          output "machines" {
            value = { api_endpoint = var.call_home.url, addresses = [] }
          }
`

// call is what the module of machines gets for the call home.
type call struct {
	URL   string `json:"url"`
	CA    string `json:"ca"`
	token string
}

// machines reads what Yuba gives the phase machines of the platform.
func (w *world) machines() (c call) {
	w.t.Helper()
	w.eventually(time.Minute, "Yuba writes the stack of the machines", func() error {
		out, err := w.run("", "yuba", "kubectl", "get", "terraform", "acme-eu-machines", "-o", "json")
		if err != nil {
			return errors.New(out)
		}
		var stack infrav1.Terraform
		if err := json.Unmarshal([]byte(out), &stack); err != nil {
			return err
		}
		for _, v := range stack.Spec.Vars {
			switch {
			case v.Name == "call_home" && v.Value != nil:
				if err := json.Unmarshal(v.Value.Raw, &c); err != nil {
					return err
				}
			case v.Name == "call_home_token" && v.ValueFrom != nil:
				ref := v.ValueFrom.SecretKeyRef
				text, err := w.run("", "yuba", "kubectl", "get", "secret", ref.Name, "-o", "go-template={{index .data \""+ref.Key+"\" | base64decode}}")
				if err != nil {
					return errors.New(text)
				}
				c.token = text
			}
		}
		if c.URL == "" || c.token == "" {
			return fmt.Errorf("it has the URL %q, and no token", c.URL)
		}
		return nil
	})
	if want := "https://" + callHomeName + ":7448/call-home/default/acme-eu-kubeconfig"; c.URL != want || !strings.Contains(c.CA, "BEGIN CERTIFICATE") {
		w.t.Errorf("machines call %s with %q, want %s", c.URL, c.CA, want)
	}
	return c
}

// calls runs the script of the first machine's cloud-config in a Pod, with the programs of this machine.
func (w *world) calls(c call) {
	w.t.Helper()
	out := w.apply("cloud-init", "user_data", map[string]any{"platform": "acme-eu", "region": "eu", "control_planes": 1, "workers": 0, "air_gap": true,
		"subnets":     []any{map[string]any{"id": "s", "zone": "", "cidr": "10.20.0.0/16"}},
		"api_address": w.address(), "join_token": "0123456789abcdef0123456789abcdef", "kubernetes": map[string]any{"binary_url": ""},
		"call_home": c, "call_home_token": c.token})
	var texts map[string]string
	if err := json.Unmarshal(out, &texts); err != nil {
		w.t.Fatal(err)
	}
	var config struct {
		WriteFiles []struct{ Path, Content string } `json:"write_files"`
	}
	if err := yaml.Unmarshal([]byte(texts["acme-eu-eu-server-1"]), &config); err != nil {
		w.t.Fatal(err)
	}
	files := map[string]string{"k3s.yaml": strings.ReplaceAll(w.inline, w.address(), "127.0.0.1")}
	for _, f := range config.WriteFiles {
		if name := filepath.Base(f.Path); strings.HasPrefix(name, "call-home") {
			files[name] = f.Content
		}
	}
	if len(files) != 5 {
		w.t.Fatalf("the cloud-config has %d files for the call home", len(files)-1)
	}
	w.object(machine(files))
	w.kubectl("wait", "pod/call-home", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=90s")
	if log := w.kubectl("logs", "call-home"); !strings.Contains(log, "call home: Yuba has the kubeconfig") || strings.Contains(log, c.token) {
		w.t.Errorf("the machine says %s", log)
	}
	text := w.kubectl("get", "secret", "acme-eu-kubeconfig", "-o", "go-template={{.data.value | base64decode}}")
	var got, want map[string]any
	if err := errors.Join(yaml.Unmarshal([]byte(text), &got), yaml.Unmarshal([]byte(w.inline), &want)); err != nil {
		w.t.Fatal(err)
	}
	file := filepath.Join(w.dir, "brought.kubeconfig")
	w.write(file, text)
	if out, err := w.run("", "yuba", "kubectl", "--kubeconfig", file, "get", "nodes", "-o", "name"); err != nil || !strings.Contains(out, "node/") {
		w.t.Errorf("the kubeconfig that arrived: %v: %s", err, out)
	}
	if log := w.kubectl("-n", "yuba-system", "logs", "deployment/yuba"); strings.Contains(log, c.token) {
		w.t.Error("Yuba's log has the token")
	}
}

// machine is a Pod that has the files of a cloud-config, and the programs of this machine: it runs the script as cloud-init does.
func machine(files map[string]string) string {
	data := map[string]string{}
	for name, text := range files {
		data[name] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	secret, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]string{"name": "call-home"}, "data": data})
	if err != nil {
		panic(err)
	}
	mounts := ""
	for _, dir := range []string{"bin", "lib", "lib64"} {
		mounts += fmt.Sprintf("    - {name: usr, mountPath: /%s, subPath: %s, readOnly: true}\n    - {name: usr, mountPath: /usr/%s, subPath: %s, readOnly: true}\n", dir, dir, dir, dir)
	}
	return string(secret) + `---
apiVersion: v1
kind: Pod
metadata: {name: call-home}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  containers:
  - name: machine
    image: localhost/pause:1
    command: [/bin/sh, -c, "mkdir -p /etc/yuba /etc/rancher/k3s; cp /secret/call-home* /etc/yuba; cp /secret/k3s.yaml /etc/rancher/k3s; sh /etc/yuba/call-home"]
    volumeMounts:
    - {name: secret, mountPath: /secret}
    - {name: run, mountPath: /run}
` + mounts + `  volumes:
  - {name: usr, hostPath: {path: /usr}}
  - {name: run, emptyDir: {}}
  - {name: secret, secret: {secretName: call-home}}
`
}

// onlyOnce asks the Service again from the node: with the token that is spent, without one, and as somebody who trusts another
// authority.
func (w *world) onlyOnce(c call) {
	w.t.Helper()
	ip := strings.TrimSpace(w.kubectl("-n", "yuba-system", "get", "service", "yuba-call-home", "-o", "jsonpath={.spec.clusterIP}"))
	put := func(roots *x509.CertPool, token string) (int, error) {
		request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPut, strings.Replace(c.URL, callHomeName, ip, 1), bytes.NewReader([]byte(w.inline)))
		if err != nil {
			w.t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: callHomeName}}}
		answer, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(c.CA))
	for _, token := range []string{c.token, "wrong"} {
		if code, err := put(roots, token); err != nil || code < 400 || code > 499 {
			w.t.Errorf("a second call: %d %v", code, err)
		}
	}
	var unknown x509.UnknownAuthorityError
	if code, err := put(x509.NewCertPool(), c.token); !errors.As(err, &unknown) {
		w.t.Errorf("with another authority: %d %v", code, err)
	}
}
