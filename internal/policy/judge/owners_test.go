// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/policy/codeowners"
	"github.com/yuba-dev/yuba/internal/policy/decide"
)

func TestWhomNamesInCodeownersStandFor(t *testing.T) {
	p := &policy{spec: &yubav1.PolicySpec{Approvals: &yubav1.PolicyApprovals{Codeowners: true, Owners: []yubav1.PolicyOwner{
		{Name: "@Acme/Network", Groups: []string{"oidc:network"}}, {Name: "@ada", Users: []string{"ada@example.org"}}, {Name: "@@maintainer", Groups: []string{"leads"}}, {Name: "@nobody"}}}}}
	group := func(names ...string) codeowners.Group { return codeowners.Group{Owners: names, Path: "main.tf"} }
	got := p.owners(Owners{Groups: []codeowners.Group{group("@acme/network", "@ada"), group("@acme/storage"), group("@grace"), group("joan@example.org"),
		group("@system:authenticated", "@System:masters", "@@owner", "@nobody"), group("@@maintainer")}})
	want := []decide.Owners{
		{Names: []string{"@acme/network", "@ada"}, Users: []string{"ada@example.org"}, Groups: []string{"oidc:network"}},
		{Names: []string{"@acme/storage"}, Groups: []string{"acme/storage"}},
		{Names: []string{"@grace"}, Users: []string{"grace"}, Groups: []string{"grace"}},
		{Names: []string{"joan@example.org"}, Users: []string{"joan@example.org"}},
		{Names: []string{"@system:authenticated", "@System:masters", "@@owner", "@nobody"}},
		{Names: []string{"@@maintainer"}, Groups: []string{"leads"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b := &Binding{policies: []*policy{p, p, {spec: &yubav1.PolicySpec{}}}}
	if paths, all := b.OwnersOf(Owners{Groups: []codeowners.Group{group("@grace")}}); !b.WantsOwners() || len(all) != 1 || paths[0] != "main.tf" {
		t.Errorf("%q %+v", paths, all)
	}
}
