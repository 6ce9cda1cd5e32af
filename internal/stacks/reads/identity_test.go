// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestIdentitiesHaveTheVariablesOfTheirCloud(t *testing.T) {
	for sentence, test := range map[string]struct {
		token infrav1.IdentityToken
		want  map[string]string
	}{
		"AWS": {infrav1.IdentityToken{Audience: "sts.amazonaws.com", AWS: &infrav1.AWSIdentity{RoleARN: "arn:aws:iam::123456789012:role/prod"}},
			map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": run.IdentityPath, "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/prod", "AWS_ROLE_SESSION_NAME": "team.vpc"}},
		"Azure": {infrav1.IdentityToken{Audience: "api://AzureADTokenExchange", Azure: &infrav1.AzureIdentity{ClientID: "c", TenantID: "t", SubscriptionID: "s"}},
			map[string]string{"ARM_USE_OIDC": "true", "ARM_OIDC_TOKEN_FILE_PATH": run.IdentityPath, "ARM_CLIENT_ID": "c", "ARM_TENANT_ID": "t", "ARM_SUBSCRIPTION_ID": "s",
				"AZURE_FEDERATED_TOKEN_FILE": run.IdentityPath, "AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "t"}},
		"Google Cloud": {infrav1.IdentityToken{Audience: "projects/1/locations/global/workloadIdentityPools/p/providers/y", GCP: &infrav1.GCPIdentity{ServiceAccount: "d@p.iam.gserviceaccount.com"}},
			map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": run.IdentityConfig}},
		"another": {infrav1.IdentityToken{Audience: "vault", PathEnv: "VAULT_JWT_FILE"}, map[string]string{"VAULT_JWT_FILE": run.IdentityPath}},
	} {
		var c Configuration
		obj := &infrav1.Terraform{Spec: infrav1.TerraformSpec{ServiceAccountName: "deployer", IdentityTokens: []infrav1.IdentityToken{test.token}}}
		obj.Namespace, obj.Name = "team", "vpc"
		if err := c.setIdentities(obj); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, e := range c.identities[0].Env {
			got[e.Name] = e.Value
		}
		if diff := cmp.Diff(test.want, got); diff != "" || c.serviceAccount != "deployer" {
			t.Errorf("%s, of %s (-want +got):\n%s", sentence, c.serviceAccount, diff)
		}
	}
}

func TestARunNeverGetsTheTokenOfItsRunner(t *testing.T) {
	var c Configuration
	obj := &infrav1.Terraform{Spec: infrav1.TerraformSpec{IdentityTokens: []infrav1.IdentityToken{{Audience: "yuba-runner", PathEnv: "A"}}}}
	if err := c.setIdentities(obj); err == nil {
		t.Error("it would")
	}
}

func TestGoogleCloudsFileIsAnExternalAccount(t *testing.T) {
	for _, audience := range []string{"projects/1/p", "//iam.googleapis.com/projects/1/p", "https://iam.googleapis.com/projects/1/p"} {
		text, err := gcpIdentity(audience, &infrav1.GCPIdentity{ServiceAccount: "d@p.iam.gserviceaccount.com"})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Type, Audience string
			Source         struct{ File string } `json:"credential_source"`
			URL            string                `json:"service_account_impersonation_url"`
		}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(text, run.IdentityPath, "/token")), &got); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if got.Type != "external_account" || got.Audience != "//iam.googleapis.com/projects/1/p" || got.Source.File != "/token" || !strings.HasSuffix(got.URL, "/d@p.iam.gserviceaccount.com:generateAccessToken") {
			t.Errorf("%s: %+v", audience, got)
		}
	}
}
