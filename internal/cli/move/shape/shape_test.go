// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/kit/moving"
)

const (
	uidA     = "aaaaaaaa-0000-4000-8000-000000000001"
	uidB     = "bbbbbbbb-0000-4000-8000-000000000001"
	uidOther = "cccccccc-0000-4000-8000-000000000001"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return o
}

const stackText = `
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {namespace: team, name: vpc, uid: ` + uidA + `, generation: 3, resourceVersion: "7", finalizers: [x], labels: {team: net}, annotations: {note: "of ` + uidA + `"}}
spec: {interval: 1h, destroyResourcesOnDeletion: true}
status: {observedGeneration: 3, lastPlannedGeneration: 3, currentRun: {id: r}, conditions: [{type: Ready, observedGeneration: 3}], takenOver: {uid: ` + uidA + `}}
`

var mark = moving.Mark{Move: "m1", Home: "b", Name: "prod"}

// merged applies a merge patch to the fields that moves change.
func merged(t *testing.T, o *unstructured.Unstructured, patch []byte) *unstructured.Unstructured {
	t.Helper()
	var p struct {
		Metadata struct {
			Annotations map[string]*string
		}
		Spec map[string]any
	}
	if err := json.Unmarshal(patch, &p); err != nil {
		t.Fatal(err)
	}
	o = o.DeepCopy()
	annotations := o.GetAnnotations()
	for name, value := range p.Metadata.Annotations {
		if value == nil {
			delete(annotations, name)
		} else {
			annotations[name] = *value
		}
	}
	o.SetAnnotations(annotations)
	spec := o.Object["spec"].(map[string]any)
	for name, value := range p.Spec {
		if value == nil {
			delete(spec, name)
		} else {
			spec[name] = value
		}
	}
	return o
}

func TestFrozenStackIsProtectedAndComesBackAsItWas(t *testing.T) {
	was := object(t, stackText)
	frozen := merged(t, was, Freeze(Stacks, was, mark))
	spec := frozen.Object["spec"].(map[string]any)
	if spec["suspend"] != true || spec["destroyResourcesOnDeletion"] != false {
		t.Errorf("it is not protected: %v", spec)
	}
	got, _ := moving.MovedTo(frozen)
	want := moving.Mark{Move: "m1", Home: "b", Name: "prod", Generation: 3, Before: map[string]any{"suspend": nil, "destroyResourcesOnDeletion": true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mark (-want +got):\n%s", diff)
	}
	if Freeze(Stacks, frozen, mark) != nil {
		t.Error("it is frozen twice, and would forget how it was")
	}
	if Digest(Stacks, frozen) != Digest(Stacks, was) {
		t.Error("freezing changes its content")
	}
	back := merged(t, frozen, Release(moving.AnnotationMoved, frozen, got))
	if diff := cmp.Diff(was.Object, back.Object); diff != "" {
		t.Errorf("it came back different (-want +got):\n%s", diff)
	}
}

func TestWantedObjectIsSuspendedUntilItIsReleased(t *testing.T) {
	was := object(t, stackText)
	frozen := merged(t, was, Freeze(Stacks, was, mark))
	wanted, gone := Wanted(Stacks, frozen, Target{APIVersion: "infra.contrib.fluxcd.io/v1alpha2", UIDs: UIDs{uidA: uidB}, Mark: moving.Mark{Move: "m1", Home: "a"}})
	if len(gone) > 0 {
		t.Errorf("owners are gone: %v", gone)
	}
	want := object(t, `
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {namespace: team, name: vpc, labels: {team: net}, annotations: {note: "of `+uidB+`"}}
spec: {interval: 1h, destroyResourcesOnDeletion: true, suspend: true}
`)
	arriving, _ := moving.ArrivingFrom(wanted)
	free := merged(t, wanted, Release(moving.AnnotationArriving, wanted, arriving))
	wanted.SetAnnotations(annotationsOf(wanted))
	if diff := cmp.Diff(want.Object, wanted.Object); diff != "" {
		t.Errorf("wanted (-want +got):\n%s", diff)
	}
	if _, suspended := free.Object["spec"].(map[string]any)["suspend"]; suspended {
		t.Error("it stays suspended")
	}
}

func TestStackThatWasSuspendedStaysSuspended(t *testing.T) {
	was := object(t, stackText)
	was.Object["spec"].(map[string]any)["suspend"] = true
	frozen := merged(t, was, Freeze(Stacks, was, mark))
	wanted, _ := Wanted(Stacks, frozen, Target{})
	arriving, _ := moving.ArrivingFrom(wanted)
	if arriving.Before["suspend"] != true || Resumes(wanted) {
		t.Errorf("it is resumed: %+v", arriving)
	}
}

func TestOwnersThatDoNotMoveAreDropped(t *testing.T) {
	o := object(t, `
apiVersion: v1
kind: Secret
metadata:
  name: outputs
  ownerReferences:
  - {apiVersion: v1, kind: Terraform, name: vpc, uid: `+uidA+`}
  - {apiVersion: v1, kind: ExternalSecret, name: es, uid: `+uidOther+`}
data: {a: Yg==}
`)
	wanted, gone := Wanted(Secrets, o, Target{APIVersion: "v1", UIDs: UIDs{uidA: uidB}})
	owners := wanted.GetOwnerReferences()
	if len(owners) != 1 || string(owners[0].UID) != uidB {
		t.Errorf("owners %+v", owners)
	}
	if diff := cmp.Diff([]string{"ExternalSecret es"}, gone); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{uidA, uidOther}, Mentioned(o)); diff != "" {
		t.Errorf("mentioned (-want +got):\n%s", diff)
	}
}

func TestStatusIsAboutTheObjectThere(t *testing.T) {
	was := object(t, stackText)
	frozen := merged(t, was, Freeze(Stacks, was, mark))
	frozen.SetGeneration(4)
	live, _ := Wanted(Stacks, frozen, Target{})
	live.SetUID(uidB)
	live.SetGeneration(1)
	got := Status(Stacks, frozen, live, UIDs{uidA: uidB})
	want := map[string]any{"observedGeneration": int64(1), "lastPlannedGeneration": int64(2), "originUID": uidA,
		"conditions": []any{map[string]any{"type": "Ready", "observedGeneration": int64(1)}}, "takenOver": map[string]any{"uid": uidB}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	// Back at its first home it needs no other salt.
	there := object(t, stackText)
	there.SetUID(uidB)
	there.Object["status"] = got
	first, _ := Wanted(Stacks, there, Target{})
	first.SetUID(uidA)
	first.SetGeneration(9)
	if back := Status(Stacks, there, first, UIDs{uidB: uidA}); back["originUID"] != nil {
		t.Errorf("origin %v", back["originUID"])
	}
	if Status(Secrets, was, live, nil) != nil {
		t.Error("Secrets have no status that moves")
	}
}

func TestCovers(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: {x: y}}\ntype: Opaque\ndata: {a: Yg==}\n"
	for sentence, c := range map[string]struct {
		kind         Kind
		live, wanted string
		want         bool
	}{
		"the same":                      {Secrets, secret, secret, true},
		"another value":                 {Secrets, "kind: Secret\napiVersion: v1\nmetadata: {name: a}\ndata: {a: Yw==}\n", secret, false},
		"one value more":                {Secrets, secret + "stringData: {}\n", "kind: Secret\napiVersion: v1\nmetadata: {name: a}\ndata: {}\n", false},
		"another label":                 {Secrets, secret, "kind: Secret\napiVersion: v1\nmetadata: {name: a, labels: {x: z}}\ntype: Opaque\ndata: {a: Yg==}\n", false},
		"a default more":                {Stacks, "kind: Terraform\napiVersion: v1\nmetadata: {name: a}\nspec: {interval: 1h, parallelism: 0}\n", "kind: Terraform\napiVersion: v1\nmetadata: {name: a}\nspec: {interval: 1h}\n", true},
		"a field that was dropped":      {Stacks, "kind: Terraform\napiVersion: v1\nmetadata: {name: a}\nspec: {interval: 1h}\n", "kind: Terraform\napiVersion: v1\nmetadata: {name: a}\nspec: {interval: 1h, inline: {a: b}}\n", false},
		"an empty one that was dropped": {Stacks, "kind: Terraform\napiVersion: v1\nmetadata: {name: a}\nspec: {interval: 1h}\n", "kind: Terraform\napiVersion: v1\nmetadata: {name: a}\nspec: {interval: 1h, force: false, vars: []}\n", true},
		"a list with other order":       {Stacks, "kind: Terraform\napiVersion: v1\nmetadata: {name: a}\nspec: {targets: [b, a]}\n", "kind: Terraform\napiVersion: v1\nmetadata: {name: a}\nspec: {targets: [a, b]}\n", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := Covers(c.kind, object(t, c.live), object(t, c.wanted)); got != c.want {
				t.Errorf("covers: %v", got)
			}
		})
	}
}

func TestSkip(t *testing.T) {
	for sentence, c := range map[string]struct {
		kind  Kind
		text  string
		moves bool
	}{
		"an ordinary Secret":          {Secrets, "metadata: {name: a}", true},
		"a state":                     {Secrets, "metadata: {name: tfstate-default-vpc, labels: {app.kubernetes.io/managed-by: terraform}}", true},
		"a token":                     {Secrets, "metadata: {name: a}\ntype: kubernetes.io/service-account-token", false},
		"a Helm release":              {Secrets, "metadata: {name: sh.helm.release.v1.a.v1}\ntype: helm.sh/release.v1", false},
		"a binary plan":               {Secrets, "metadata: {name: tfplan-default-vpc, labels: {infra.contrib.fluxcd.io/plan-name: vpc}}", false},
		"a readable plan":             {Secrets, "metadata: {name: tfplan-default-vpc.json, labels: {infra.contrib.fluxcd.io/plan-name: vpc.json}}", true},
		"the authority of the API":    {ConfigMaps, "metadata: {name: kube-root-ca.crt}", false},
		"the record of moves":         {ConfigMaps, "metadata: {name: yuba-move}", false},
		"the default service account": {ServiceAccounts, "metadata: {name: default}", false},
		"another service account":     {ServiceAccounts, "metadata: {name: tf-runner}", true},
		"one of a chart":              {ServiceAccounts, "metadata: {name: tf-runner, labels: {app.kubernetes.io/managed-by: Helm}}", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if why := Skip(c.kind, object(t, "apiVersion: v1\nkind: "+c.kind.String()+"\n"+c.text)); (why == "") != c.moves {
				t.Errorf("skipped because %q", why)
			}
		})
	}
}

func TestFrozen(t *testing.T) {
	stack, all := object(t, stackText), object(t, `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {namespace: team, name: all, generation: 1, annotations: {note: text}}
spec: {interval: 1h, prune: true}
`)
	set := func(name string, value any) func(map[string]any) {
		return func(spec map[string]any) { spec[name] = value }
	}
	for sentence, c := range map[string]struct {
		kind   Kind
		object *unstructured.Unstructured
		change func(spec map[string]any)
		move   string
		want   bool
	}{
		"a suspended and marked stack is":                         {Stacks, stack, nil, "m1", true},
		"that of another move is not":                             {Stacks, stack, nil, "m2", false},
		"one that somebody has resumed is not":                    {Stacks, stack, set("suspend", false), "m1", false},
		"nor one that would destroy its resources":                {Stacks, stack, set("destroyResourcesOnDeletion", true), "m1", false},
		"a suspended Kustomization is":                            {Kustomizations, all, nil, "m1", true},
		"one that prunes is not":                                  {Kustomizations, all, set("prune", true), "m1", false},
		"one of an old Flux, which has no deletion policy, still": {Kustomizations, all, func(spec map[string]any) { delete(spec, "deletionPolicy") }, "m1", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := merged(t, c.object, Freeze(c.kind, c.object, mark))
			if c.change != nil {
				c.change(o.Object["spec"].(map[string]any))
			}
			if got := Frozen(c.kind, o, c.move); got != c.want {
				t.Errorf("frozen: %v", got)
			}
			again := Freeze(c.kind, o, mark)
			if (again == nil) != Frozen(c.kind, o, mark.Move) {
				t.Errorf("the patch is %s", again)
			}
			if again == nil {
				return
			}
			was, _ := moving.MovedTo(o)
			is, _ := moving.MovedTo(merged(t, o, again))
			if diff := cmp.Diff(was, is); diff != "" || !Frozen(c.kind, merged(t, o, again), mark.Move) {
				t.Errorf("freezing it again forgets how it was (-want +got):\n%s", diff)
			}
		})
	}
}

// The registration of a claim on the DNS server names one of its former UIDs until its new home has written it anew.
func TestAClaimBringsItsFormerUIDs(t *testing.T) {
	for sentence, c := range map[string]struct {
		former []any
		source string
		live   string
		want   []any
	}{
		"the first move":                {nil, "a", "b", []any{"a"}},
		"a move that was not written":   {[]any{"a"}, "b", "c", []any{"a", "b"}},
		"the way back":                  {nil, "b", "a", []any{"b"}},
		"the way back, not written":     {[]any{"a"}, "b", "a", []any{"b"}},
		"more than the status can have": {[]any{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"}, "b", "c", []any{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "b"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			source := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": c.source}, "status": map[string]any{"phase": "Committed", "formerUIDs": c.former}}}
			if c.former == nil {
				unstructured.RemoveNestedField(source.Object, "status", "formerUIDs")
			}
			live := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": c.live}}}
			status := Status(Claims, source, live, UIDs{c.source: c.live})
			if diff := cmp.Diff(map[string]any{"phase": "Committed", "formerUIDs": c.want}, status); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARecordOfExternalDNSStays(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"publish": map[string]any{"powerDNS": map[string]any{}}}}}
	if why := Skip(FailoverRecords, o); why != "" {
		t.Errorf("one on PowerDNS: %s", why)
	}
	o.Object["spec"] = map[string]any{"publish": map[string]any{"dnsEndpoint": map[string]any{}}}
	if why := Skip(FailoverRecords, o); why == "" {
		t.Error("one of external-dns moves")
	}
}
