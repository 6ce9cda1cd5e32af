// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
)

// twoContracts are prod/base and dev/base, which are granted to their own namespace, and prod/base also to
// team-a.
type twoContracts struct{ t *testing.T }

func (twoContracts) Grants(_ context.Context, c registry.ContractName, namespace string) (bool, error) {
	exists := c.Name == "base" && (c.Namespace == "prod" || c.Namespace == "dev")
	return exists && (c.Namespace == namespace || c.Namespace == "prod" && namespace == "team-a"), nil
}

func (twoContracts) Versions(_ context.Context, c registry.ContractName) ([]string, error) {
	if c.Name != "base" {
		return nil, fmt.Errorf("%w: there is no Contract %v", catalog.ErrNone, c)
	}
	return []string{"1.2.0", "1.0.0"}, nil
}

func (f twoContracts) Archive(_ context.Context, c registry.ContractName, version string) (offer.File, error) {
	text := packed(f.t, "output \"is\" {\n  value = \""+c.Namespace+" "+version+"\"\n}\n")
	return offer.File{Content: io.NopCloser(bytes.NewReader(text)), Size: int64(len(text)), Digest: "sha256:00"}, nil
}

// owner may get all objects of the API.
type owner struct{ registry.Access }

func (owner) May(_ context.Context, who registry.Identity, what registry.Action) (bool, string, error) {
	return who.Name == "ann" && what == registry.Action{Verb: "get", Group: "yuba.dev", Resource: "contracts", Namespace: "prod", Name: "base"}, "", nil
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestWhoReadsTheModulesOfContracts(t *testing.T) {
	s := newSite(t, func(_ *site, o *registry.Options) {
		o.Contracts, o.Access, o.Anonymous = twoContracts{t}, owner{o.Access}, true
	})
	account := func(namespace string) registry.Identity { return registry.ServiceAccount(namespace, "tf-runner") }
	forged := registry.Identity{Name: "system:serviceaccount:prod:tf-runner", Groups: []string{"system:authenticated"}}
	ownToken := account("prod")
	ownToken.OwnToken = true
	for sentence, test := range map[string]struct {
		who  registry.Identity
		name string
		want string // the namespace whose contract it is, or the error
	}{
		"a stack, of its own namespace":               {account("prod"), "base", "prod"},
		"a stack of another, of its own":              {account("dev"), "base", "dev"},
		"its own namespace, named":                    {account("prod"), "prod_base", "prod"},
		"a granted one":                               {account("team-a"), "prod_base", "prod"},
		"one that is not granted":                     {account("dev"), "prod_base", "the Contract prod/base does not exist, or system:serviceaccount:dev:tf-runner may not read it"},
		"one that does not exist":                     {account("dev"), "prod_other", "the Contract prod/other does not exist, or system:serviceaccount:dev:tf-runner may not read it"},
		"a namespace without contracts":               {account("team-a"), "base", "the Contract team-a/base does not exist"},
		"a person whom the API lets":                  {registry.Identity{Name: "ann"}, "prod_base", "prod"},
		"a person whom the API does not let":          {registry.Identity{Name: "eve"}, "prod_base", "does not exist, or eve may not read it"},
		"a person without a namespace":                {registry.Identity{Name: "ann"}, "base", "Name the namespace: contracts/NAMESPACE_base/publish"},
		"a name like that of an account":              {forged, "base", "Name the namespace"},
		"a token of the registry's own list":          {ownToken, "base", "Name the namespace"},
		"nobody, although modules can be read by all": {registry.Anonymous(), "prod_base", "the modules of contracts need a token"},
	} {
		h := s.server.ServeAs(test.who)
		versions, download := get(h, "/v1/modules/contracts/"+test.name+"/publish/versions"), get(h, "/v1/modules/contracts/"+test.name+"/publish/1.2.0/download")
		if versions.Code != http.StatusOK {
			if !strings.Contains(versions.Body.String(), test.want) || download.Body.String() != versions.Body.String() || versions.Code != download.Code {
				t.Errorf("%s: %s, %s", sentence, versions.Body, download.Body)
			}
			continue
		}
		if !strings.Contains(versions.Body.String(), `"versions":[{"version":"1.2.0"},{"version":"1.0.0"}]`) {
			t.Errorf("%s: versions %s", sentence, versions.Body)
		}
		location, ok := strings.CutPrefix(download.Header().Get("X-Terraform-Get"), "./archive/")
		if !ok || !strings.HasSuffix(location, "/"+test.want+"_base-1.2.0.tar.gz") {
			t.Errorf("%s: location %s", sentence, location)
		}
		archive := get(h, "/v1/modules/contracts/"+test.name+"/publish/1.2.0/archive/"+location)
		if archive.Code != http.StatusOK || !slices.Equal(archive.Body.Bytes(), packed(t, "output \"is\" {\n  value = \""+test.want+" 1.2.0\"\n}\n")) || archive.Header().Get("Repr-Digest") == "" {
			t.Errorf("%s: archive %d %v", sentence, archive.Code, archive.Header())
		}
		// The signature opens this archive only, and only to who got it.
		for path, h := range map[string]http.Handler{
			"/v1/modules/contracts/" + test.name + "/publish/1.0.0/archive/" + strings.ReplaceAll(location, "1.2.0", "1.0.0"):             h,
			"/v1/modules/contracts/" + test.name + "/publish/1.2.0/archive/" + strings.Replace(location, "/"+test.want+"_", "/other_", 1): h,
			"/v1/modules/contracts/" + test.name + "/publish/1.2.0/archive/" + location:                                                   s.server.ServeAs(account("stranger")),
		} {
			if w := get(h, path); w.Code != http.StatusForbidden {
				t.Errorf("%s: %s is answered with %d", sentence, path, w.Code)
			}
		}
	}
	if w := get(s.server.ServeAs(account("prod")), "/v1/modules/contracts/base/publish/3.0.0/download"); !strings.Contains(w.Body.String(), "has no version 3.0.0; it has 1.2.0, 1.0.0") {
		t.Errorf("a version that does not exist: %s", w.Body)
	}
}

// The registry's own modules keep the rest of the namespace, and nobody publishes what it makes itself.
func TestNobodyPublishesTheModuleOfAContract(t *testing.T) {
	s := newSite(t, func(_ *site, o *registry.Options) { o.Contracts = twoContracts{t} })
	s.publish("contracts/base/aws@1.0.0")
	w := get(s.server.ServeAs(registry.ServiceAccount("prod", "tf-runner")), "/v1/modules/contracts/base/aws/versions")
	if w.Code == http.StatusNotFound || strings.Contains(w.Body.String(), "spec.grants") {
		t.Errorf("another module: %d %s", w.Code, w.Body)
	}
	r := httptest.NewRequest(http.MethodPut, "/apis/content.yuba.dev/v1alpha1/modules/contracts?module=base/publish&version=9.0.0", bytes.NewReader(packed(t, "")))
	answer := httptest.NewRecorder()
	s.server.Manager().ServeHTTP(answer, r)
	var status struct{ Message string }
	if err := json.Unmarshal(answer.Body.Bytes(), &status); answer.Code != http.StatusConflict || err != nil || !strings.Contains(status.Message, "makes the modules contracts/NAME/publish") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	if _, err := s.Versions(t.Context(), layout.Module{Namespace: "contracts", Name: "base", System: "publish"}); err == nil {
		t.Error("it was published")
	}
}
