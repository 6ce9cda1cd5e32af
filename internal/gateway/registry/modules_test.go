// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// terraform is the machine's terraform, if there is one.
func terraform(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("skipped: this machine has no terraform; tofu is tested")
	}
	return program
}

func calls(host, version string) string {
	return fmt.Sprintf("module \"vpc\" {\n  source  = \"%s/acme/vpc/aws\"\n  version = %q\n}\noutput \"is\" {\n  value = module.vpc.is\n}\n", host, version)
}

func testInstallingModules(t *testing.T, program string) {
	s := newSite(t)
	for _, name := range []string{"acme/vpc/aws@1.2.0", "acme/vpc/aws@1.2.1", "acme/vpc/aws@2.0.0", "acme/vpc/awscc@1.9.0"} {
		s.publish(name)
	}
	l := s.laptop(program, s.reader)
	l.write("main.tf", calls(s.host(), "~> 1.0"))
	if out, err := l.run("init", "-no-color"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := l.run("apply", "-no-color", "-auto-approve"); err != nil || !strings.Contains(out, `is = "acme/vpc/aws@1.2.1"`) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTofuInstallsModules(t *testing.T) { testInstallingModules(t, tofutest.Tofu(t)) }

func TestTerraformInstallsModules(t *testing.T) { testInstallingModules(t, terraform(t)) }

func TestToolsSayWhyAModuleCannotBeInstalled(t *testing.T) {
	s := newSite(t)
	s.publish("acme/vpc/aws@1.2.0")
	for sentence, test := range map[string]struct{ token, constraint, want string }{
		"no token":                       {"", "1.2.0", "401 Unauthorized"},
		"no such version":                {s.reader, "3.0.0", "no available version"},
		"a range that nothing satisfies": {s.reader, ">= 1.3, < 2", "The newest available version is 1.2.0"},
	} {
		t.Run(sentence, func(t *testing.T) {
			l := s.laptop(tofutest.Tofu(t), test.token)
			l.write("main.tf", calls(s.host(), test.constraint))
			out, err := l.run("init", "-no-color")
			if err == nil || !strings.Contains(strings.ToLower(oneLine(out)), strings.ToLower(test.want)) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestAnArchiveIsServedInPartsAndAgain(t *testing.T) {
	s := newSite(t)
	s.publish("acme/vpc/aws@1.2.0")
	release, err := s.Release(t.Context(), moduleVersion(t, "acme/vpc/aws@1.2.0"))
	if err != nil {
		t.Fatal(err)
	}
	response, body := s.ask("GET", "/v1/modules/acme/vpc/aws/1.2.0/download", s.reader)
	var answer struct {
		Location string
		Direct   bool `json:"use_registry_credentials"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response.Status, body, err)
	}
	if answer.Location != response.Header.Get("X-Terraform-Get") || !answer.Direct || !strings.HasSuffix(answer.Location, "/acme-vpc-aws-1.2.0.tar.gz") {
		t.Errorf("%+v, header %q", answer, response.Header.Get("X-Terraform-Get"))
	}
	path := "/v1/modules/acme/vpc/aws/1.2.0/" + strings.TrimPrefix(answer.Location, "./")
	whole, text := s.ask("GET", path, "")
	if whole.StatusCode != http.StatusOK || int64(len(text)) != release.Size || whole.Header.Get("ETag") != `"`+release.Digest+`"` || whole.Header.Get("Repr-Digest") == "" {
		t.Errorf("%s, %d bytes, %v", whole.Status, len(text), whole.Header)
	}
	part, bytes := s.ask("GET", path, "", "Range", "bytes=10-19")
	if part.StatusCode != http.StatusPartialContent || bytes != text[10:20] {
		t.Errorf("%s, %d bytes", part.Status, len(bytes))
	}
	if head, _ := s.ask("HEAD", path, ""); head.StatusCode != http.StatusOK || head.ContentLength != release.Size {
		t.Errorf("%s, %d bytes", head.Status, head.ContentLength)
	}
	if again, _ := s.ask("GET", path, "", "If-None-Match", whole.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("the same again: %s", again.Status)
	}
	if none, _ := s.ask("GET", path, "", "Range", "bytes=999999999-"); none.StatusCode != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("a range beyond its end: %s", none.Status)
	}
}

func TestASignatureIsGoodForOneFileAndAWhile(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := newSite(t, func(_ *site, o *registry.Options) { o.Now = func() time.Time { return now } })
	s.publish("acme/vpc/aws@1.2.0")
	s.publish("acme/vpc/aws@1.3.0")
	response, _ := s.ask("GET", "/v1/modules/acme/vpc/aws/1.2.0/download", s.reader)
	location := strings.TrimPrefix(response.Header.Get("X-Terraform-Get"), "./")
	if got, _ := s.ask("GET", "/v1/modules/acme/vpc/aws/1.2.0/"+location, ""); got.StatusCode != http.StatusOK {
		t.Errorf("its own: %s", got.Status)
	}
	if got, body := s.ask("GET", "/v1/modules/acme/vpc/aws/1.3.0/"+location, ""); got.StatusCode != http.StatusForbidden || !strings.Contains(body, `{"errors":["`) {
		t.Errorf("another one's: %s %s", got.Status, body)
	}
	parts := strings.SplitN(location, "/", 3)
	later := parts[0] + "/9" + parts[1] + "/" + parts[2]
	if got, _ := s.ask("GET", "/v1/modules/acme/vpc/aws/1.2.0/"+later, ""); got.StatusCode != http.StatusForbidden {
		t.Errorf("a later expiry: %s", got.Status)
	}
	now = now.Add(6 * time.Minute)
	if got, body := s.ask("GET", "/v1/modules/acme/vpc/aws/1.2.0/"+location, ""); got.StatusCode != http.StatusForbidden || !strings.Contains(body, "expired") {
		t.Errorf("after six minutes: %s %s", got.Status, body)
	}
}

func TestAnswersAboutModules(t *testing.T) {
	s := newSite(t)
	s.publish("acme/vpc/aws@1.2.0")
	s.publish("acme/vpc/aws@1.10.0")
	s.publish("acme/vpc/awscc@3.0.0")
	s.publish("other/vpc/aws@1.0.0")
	if _, err := s.Mark(t.Context(), moduleVersion(t, "acme/vpc/aws@1.2.0"), &catalog.Notice{Kind: catalog.Revoked, Reason: "it deletes networks", By: "ops"}); err != nil {
		t.Fatal(err)
	}
	for sentence, test := range map[string]struct {
		method, path, token string
		status              int
		want                string
		header              string
	}{
		"versions":                      {"GET", "/v1/modules/acme/vpc/aws/versions", s.reader, 200, `{"modules":[{"source":"acme/vpc/aws","versions":[{"version":"1.10.0"}]}]}`, ""},
		"versions, by a writer":         {"GET", "/v1/modules/acme/vpc/aws/versions", s.writer, 200, `"1.10.0"`, ""},
		"versions, HEAD":                {"HEAD", "/v1/modules/acme/vpc/aws/versions", s.reader, 200, "", ""},
		"a revoked version":             {"GET", "/v1/modules/acme/vpc/aws/1.2.0/download", s.reader, 410, "revoked by ops: it deletes networks", ""},
		"a revoked one, as runs ask":    {"GET", "/v1/modules/acme/vpc/aws/1.2.0/download", s.reader, 410, "revoked by ops: it deletes networks", "Yuba-Registry-Revoked"},
		"no such module":                {"GET", "/v1/modules/acme/none/aws/versions", s.reader, 404, `{"errors":["`, ""},
		"no such version":               {"GET", "/v1/modules/acme/vpc/aws/9.0.0/download", s.reader, 404, "the newest are 1.10.0, 1.2.0", ""},
		"no version at all":             {"GET", "/v1/modules/acme/vpc/aws/latest/download", s.reader, 404, "expected three numbers", ""},
		"upper case":                    {"GET", "/v1/modules/Acme/vpc/aws/versions", s.reader, 404, "lower-case", ""},
		"no token":                      {"GET", "/v1/modules/acme/vpc/aws/versions", "", 401, "tofu login", ""},
		"an unknown token":              {"GET", "/v1/modules/acme/vpc/aws/versions", "guessed", 401, "not valid", ""},
		"another namespace":             {"GET", "/v1/modules/other/vpc/aws/versions", s.reader, 403, "may not get modules", ""},
		"another namespace's archive":   {"GET", "/v1/modules/other/vpc/aws/1.0.0/download", s.reader, 403, `may not get modules \"other\" of the registry: the token reads [acme]`, ""},
		"discovery without a token":     {"GET", "/.well-known/terraform.json", "", 200, `"modules.v1":"/v1/modules/"`, ""},
		"discovery of login":            {"GET", "/.well-known/terraform.json", "", 200, `"ports":[10000,10010]`, ""},
		"elsewhere":                     {"GET", "/v2/", s.reader, 404, `{"errors":["`, ""},
		"writing to the protocol":       {"POST", "/v1/modules/acme/vpc/aws/versions", s.writer, 405, "", ""},
		"a provider that is not there":  {"GET", "/v1/providers/acme/thing/versions", s.reader, 404, `{"errors":["`, ""},
		"the mirror's unknown provider": {"GET", "/v1/mirror/registry.example.com/acme/thing/index.json", s.reader, 404, `{"errors":["`, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			var header []string
			if test.header != "" {
				header = []string{test.header, "1"}
			}
			response, body := s.ask(test.method, test.path, test.token, header...)
			if response.StatusCode != test.status && !(test.status == http.StatusMethodNotAllowed && response.StatusCode == http.StatusNotFound) || !strings.Contains(body, test.want) {
				t.Errorf("%s %s", response.Status, body)
			}
		})
	}
	for _, secret := range []string{s.reader, s.writer, "guessed"} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("the log has a token:\n%s", s.log.String())
		}
	}
	if log := s.log.String(); !strings.Contains(log, "registry-token:reader") || !strings.Contains(log, "namespace=other") {
		t.Errorf("refusals are not in the log:\n%s", log)
	}
}

func TestAnonymousReading(t *testing.T) {
	s := newSite(t, func(_ *site, o *registry.Options) { o.Anonymous = true })
	s.publish("acme/vpc/aws@1.2.0")
	if r, body := s.ask("GET", "/v1/modules/acme/vpc/aws/versions", ""); r.StatusCode != http.StatusOK {
		t.Errorf("reading: %s %s", r.Status, body)
	}
	if r, body := s.ask("PUT", "/apis/content.yuba.dev/v1alpha1/modules/acme?module=vpc/aws&version=1.3.0", ""); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("writing: %s %s", r.Status, body)
	}
}

// What a run gets of revoked versions, whatever the tool would choose of them.
func TestRunsKeepTheRevokedVersionsThatTheirStackHas(t *testing.T) {
	s := newSite(t)
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		s.publish("acme/vpc/aws@" + version)
	}
	for _, version := range []string{"1.1.0", "1.2.0"} {
		if _, err := s.Mark(t.Context(), moduleVersion(t, "acme/vpc/aws@"+version), &catalog.Notice{Kind: catalog.Revoked, Reason: "it deletes networks"}); err != nil {
			t.Fatal(err)
		}
	}
	asked := ""
	server := registry.New(registry.Options{Modules: s.Catalog, Access: onlyFor("system:serviceaccount:team:tofu", &asked), Key: []byte("k")})
	for name, c := range map[string]struct {
		has      []string
		destroys bool
		header   run.Revoked
		want     string
	}{
		"nothing asked":                         {[]string{"1.1.0"}, true, run.NoRevoked, "1.0.0"},
		"the version that it has":               {[]string{"1.1.0"}, false, run.UsedRevoked, "1.1.0 1.0.0"},
		"not another one to be destroyed":       {[]string{"1.1.0"}, true, run.UsedRevoked, "1.1.0 1.0.0"},
		"a module that it never had":            {nil, false, run.UsedRevoked, "1.0.0"},
		"a module that it never had, destroyed": {nil, true, run.UsedRevoked, "1.2.0 1.1.0 1.0.0"},
		"all":                                   {[]string{"1.1.0"}, true, run.AllRevoked, "1.2.0 1.1.0 1.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			has := func(layout.Module) []string { return c.has }
			s.http.Config.Handler = server.ServeRun(registry.RunRequest{Who: registry.ServiceAccount("team", "tofu"), Has: has, Destroys: c.destroys})
			_, body := s.ask("GET", "/v1/modules/acme/vpc/aws/versions", "", run.HeaderRevoked, string(c.header))
			var answer struct {
				Modules []struct {
					Versions []struct{ Version string }
				}
			}
			if err := json.Unmarshal([]byte(body), &answer); err != nil {
				t.Fatal(err, body)
			}
			var got []string
			for _, v := range answer.Modules[0].Versions {
				got = append(got, v.Version)
				if r, body := s.ask("GET", "/v1/modules/acme/vpc/aws/"+v.Version+"/download", "", run.HeaderRevoked, string(c.header)); r.StatusCode != http.StatusOK {
					t.Errorf("%s: %s %s", v.Version, r.Status, body)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
		})
	}
}

func TestServedAsAnIdentityBelowAPrefix(t *testing.T) {
	s := newSite(t)
	s.publish("acme/vpc/aws@1.2.0")
	asked := ""
	s.server = registry.New(registry.Options{Modules: s.Catalog, Access: onlyFor("system:serviceaccount:team-a:tofu", &asked), Key: []byte("k")})
	mux := http.NewServeMux()
	mux.Handle("/secret/", http.StripPrefix("/secret", s.server.ServeAs(registry.ServiceAccount("team-a", "tofu"))))
	s.http.Config.Handler = mux
	if r, body := s.ask("GET", "/secret/v1/modules/acme/vpc/aws/versions", "a token that does not count"); r.StatusCode != http.StatusOK {
		t.Fatal(r.Status, body)
	}
	if asked != "get modules acme" {
		t.Errorf("asked for %q", asked)
	}
	r, _ := s.ask("GET", "/secret/v1/modules/acme/vpc/aws/1.2.0/download", "")
	link, err := r.Request.URL.Parse(r.Header.Get("X-Terraform-Get"))
	if err != nil {
		t.Fatal(err)
	}
	if r, body := s.ask("GET", link.Path, ""); r.StatusCode != http.StatusOK || len(body) == 0 {
		t.Errorf("%s: %s %s", link.Path, r.Status, body)
	}
	// A run that destroys gets what is revoked.
	if _, err := s.Catalog.Mark(t.Context(), layout.ModuleVersion{Module: layout.Module{Namespace: "acme", Name: "vpc", System: "aws"}, Version: "1.2.0"},
		&catalog.Notice{Kind: catalog.Revoked, Reason: "it deletes networks"}); err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]int{"Yuba-Registry-Revoked": http.StatusOK, "Other": http.StatusGone} {
		if r, body := s.ask("GET", "/secret/v1/modules/acme/vpc/aws/1.2.0/download", "", header, "1"); r.StatusCode != want {
			t.Errorf("with %s: %s %s", header, r.Status, body)
		}
	}
	if r, _ := s.ask("GET", "/secret/apis/content.yuba.dev/v1alpha1/modules", ""); r.StatusCode != http.StatusNotFound {
		t.Errorf("the management API: %s", r.Status)
	}
}
