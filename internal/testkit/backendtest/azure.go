// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The account of the server.
const (
	AzureAccount = "yubastates"
	// AzureKey is its key, base64 as in Azure.
	AzureKey = "c3RhdGVzLW9mLXRoZS1henVyZS1iYWNrZW5kLTAxMjM0NTY3ODk="
	azureTLD = "azurite.test"
)

// Azure starts Azurite with one container.
//
// The backend only knows https://ACCOUNT.blob.SUFFIX, where the suffix comes from the metadata of a
// cloud: so this serves such metadata, and a proxy that leads every name below the suffix to Azurite.
func Azure(t testing.TB, container string) *Server {
	t.Helper()
	address, number := port(t)
	authority := newAuthority(t)
	dir := t.TempDir()
	certificate, key := authority.issue(t, AzureAccount+".blob."+azureTLD)
	for name, content := range map[string][]byte{"cert.pem": certificate, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &Server{Authority: authority.pem, Secret: map[string]string{"access_key": AzureKey}}
	azurite := exec.Command("node", program(t, "backends", "node_modules", "azurite", "dist", "src", "blob", "main.js"), "--blobPort", number, "--inMemoryPersistence",
		"--skipApiVersionCheck", "--disableTelemetry", "--silent", "--cert", filepath.Join(dir, "cert.pem"), "--key", filepath.Join(dir, "key.pem"))
	azurite.Dir, azurite.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "AZURITE_ACCOUNTS=" + AzureAccount + ":" + AzureKey}
	start(t, address, azurite)

	proxy := httptest.NewServer(tunnel{address})
	t.Cleanup(proxy.Close)
	metadata := authority.serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{ //nolint:errcheck // the client sees it
			"authentication": map[string]any{"loginEndpoint": "https://login." + azureTLD, "audiences": []string{"https://management." + azureTLD}},
			"suffixes":       map[string]string{"storage": azureTLD}, "resourceManager": "https://management." + azureTLD,
		})
	}))
	s.Env = map[string]string{"HTTPS_PROXY": proxy.URL}
	s.Settings = map[string]string{"storage_account_name": AzureAccount, "container_name": container, "key": "live.tfstate",
		"metadata_host": strings.TrimPrefix(metadata, "https://")}
	createContainer(t, authority.client(address), container)
	return s
}

// createContainer signs the one request that a test needs by the scheme SharedKey.
func createContainer(t testing.TB, client *http.Client, container string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, fmt.Sprintf("https://%s.blob.%s/%s?restype=container", AzureAccount, azureTLD, container), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	date := time.Now().UTC().Format(http.TimeFormat)
	req.Header.Set("x-ms-date", date)
	req.Header.Set("x-ms-version", "2021-12-02")
	key, err := base64.StdEncoding.DecodeString(AzureKey)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "PUT%sx-ms-date:%s\nx-ms-version:2021-12-02\n/%s/%s\nrestype:container", strings.Repeat("\n", 12), date, AzureAccount, container)
	req.Header.Set("Authorization", "SharedKey "+AzureAccount+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	r, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close() //nolint:errcheck // what was read suffices
	if r.StatusCode != http.StatusCreated {
		body, _ := io.ReadAll(r.Body) //nolint:errcheck // for the message
		t.Fatalf("create a container: %s\n%s", r.Status, body)
	}
}

// tunnel is a proxy for TLS that leads to one address, whatever name the client asks for.
type tunnel struct{ address string }

func (p tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect || !strings.HasSuffix(r.URL.Hostname(), "."+azureTLD) {
		http.Error(w, "only "+azureTLD, http.StatusForbidden)
		return
	}
	server, err := net.Dial("tcp", p.address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close() //nolint:errcheck // over
	w.WriteHeader(http.StatusOK)
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close() //nolint:errcheck // over
	go func() {
		io.Copy(server, buffered) //nolint:errcheck // either end may close
		server.Close()            //nolint:errcheck // over
	}()
	io.Copy(client, server) //nolint:errcheck // either end may close
}
