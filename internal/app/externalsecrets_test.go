// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// The operator may be installed after Yuba. Two programs would write the same Secrets.
func TestExternalSecretsOfTheOperatorAreLeftAlone(t *testing.T) {
	c, now := apitest.Client(t), time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	owner := &externalOwner{client: c, now: func() time.Time { return now }}
	check := func(sentence, want string) {
		t.Helper()
		if why, err := owner.theirs(t.Context()); err != nil || (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%s: left alone because %q, %v", sentence, why, err)
		}
	}
	check("Yuba's definitions", "")
	for _, name := range externalDefinitions {
		label(t, c, name, "controller")
		check("within the period", "")
		now = now.Add(ownerPeriod)
		check("the operator installed "+name, "the External Secrets Operator installed")
		label(t, c, name, "")
		now = now.Add(ownerPeriod)
		check("the operator left "+name, "")
	}
	config := rest.CopyConfig(apitest.API(t).RESTConfig())
	config.Impersonate.UserName = "nobody"
	nobody, err := client.New(config, client.Options{Scheme: newScheme(), Mapper: c.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	owner = &externalOwner{client: nobody, now: time.Now}
	check("without the right", "it lacks the right to get the customresourcedefinition externalsecrets.external-secrets.io")
}

// label sets the operator's label of a definition as long as the test lasts; empty removes it.
func label(t *testing.T, c client.Client, name, value string) {
	t.Helper()
	set := func(ctx context.Context, value string) error {
		d, err := definitionOf(ctx, c, name)
		if err != nil {
			return err
		}
		text := "null"
		if value != "" {
			text = fmt.Sprintf("%q", value)
		}
		return c.Patch(ctx, d, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, componentLabel, text)))
	}
	if err := set(t.Context(), value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set(context.Background(), ""); err != nil {
			t.Error(err)
		}
	})
}
