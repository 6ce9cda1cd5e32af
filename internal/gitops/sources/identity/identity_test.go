// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"
	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/auth/aws"
)

const repository = "012345678901.dkr.ecr.eu-central-1.amazonaws.com/iac/foo"

// cloud answers instead of AWS.
type cloud struct {
	aws.Implementation
	asked   int
	region  string
	expires time.Time
	err     error
}

func (c *cloud) LoadDefaultConfig(context.Context, ...func(*config.LoadOptions) error) (awssdk.Config, error) {
	return awssdk.Config{Credentials: credentials.NewStaticCredentialsProvider("role", "key", "session")}, nil
}

func (c *cloud) GetAuthorizationToken(_ context.Context, cfg awssdk.Config) (any, error) {
	c.asked++
	c.region = cfg.Region
	token := base64.StdEncoding.EncodeToString([]byte("AWS:hunter2"))
	return &ecr.GetAuthorizationTokenOutput{AuthorizationData: []types.AuthorizationData{{AuthorizationToken: &token, ExpiresAt: &c.expires}}}, c.err
}

func TestCredentialsOfARegistryAreSharedUntilTheyExpire(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	c := &cloud{expires: now.Add(12 * time.Hour)}
	i, err := New([]string{"aws"})
	if err != nil {
		t.Fatal(err)
	}
	i.now = func() time.Time { return now }
	i.providers = map[string]auth.ArtifactRegistryCredentialsProvider{"aws": aws.Provider{Implementation: c}}
	get := func(repository string) {
		t.Helper()
		got, err := i.Registry(t.Context(), "aws", repository)
		if err != nil || got.Username != "AWS" || got.Password != "hunter2" || c.region != "eu-central-1" {
			t.Errorf("credentials of %s in %s: %+v, %v", repository, c.region, got, err)
		}
	}
	get(repository)
	get(strings.Replace(repository, "foo", "bar", 1))
	if c.asked != 1 {
		t.Errorf("two repositories of a registry led to %d requests", c.asked)
	}
	now = now.Add(12*time.Hour - early)
	c.expires = now.Add(12 * time.Hour)
	get(repository)
	if c.asked != 2 {
		t.Errorf("credentials that are about to expire led to %d requests", c.asked)
	}
	now, c.err = now.Add(12*time.Hour), errors.New("the role may not do that")
	if _, err := i.Registry(t.Context(), "aws", repository); err == nil || !strings.Contains(err.Error(), "the role may not do that") {
		t.Errorf("error %v", err)
	}
}

func TestNobodyIsAllowedByDefault(t *testing.T) {
	var none *Identities
	if none.Allows("aws") {
		t.Error("nil allows")
	}
	i, err := New([]string{"gcp"})
	if err != nil || i.Allows("aws") || !i.Allows("gcp") {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err := New([]string{"aws", "ibm"}); err == nil || !strings.Contains(err.Error(), `"ibm" is not a provider`) {
		t.Errorf("error %v", err)
	}
}

func TestOnlyRegistriesOfTheProviderAreOwn(t *testing.T) {
	i, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for repository, own := range map[string]string{
		repository:                    "aws",
		"public.ecr.aws/team/foo":     "aws",
		"europe-docker.pkg.dev/p/r/f": "gcp",
		"gcr.io/p/f":                  "gcp",
		"team.azurecr.io/foo":         "azure",
		"registry.example.com/foo":    "",
		"gcr.io.example.com/foo":      "",
		"example.com/.azurecr.io":     "",
		"127.0.0.1:5000/gcr.io":       "",
	} {
		for _, provider := range Providers {
			if err := i.IsOwnRegistry(provider, repository); (err == nil) != (provider == own) {
				t.Errorf("%s of %s: %v", repository, provider, err)
			}
		}
	}
}
