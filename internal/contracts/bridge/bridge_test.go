// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bridge_test

import (
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	contracts "github.com/yuba-dev/yuba/internal/contracts/controller"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/s3test"
	"github.com/yuba-dev/yuba/internal/testkit/ssmtest"
)

const baseType = "object({ vpc_id = string, subnets = list(string), note = optional(string) })"

var credentials = &yubav1.BridgeSecretReference{Name: "aws"}

func ssmStore(s *ssmtest.Server, name string) yubav1.BridgeStore {
	return yubav1.BridgeStore{SSM: &yubav1.SSMStore{Name: name, Region: ssmtest.Region, Endpoint: s.URL}, CredentialsSecret: credentials}
}

// TestOutToSSM: each revision is written; somebody else's document is never overwritten unnamed.
func TestOutToSSM(t *testing.T) {
	w, ssm := newWorld(t), ssmtest.New(t)
	const name = "/configuration/base"
	holds := func(want string) {
		t.Helper()
		w.eventually(name+" is "+want, func() string {
			if got := ssm.Values()[name]; got != want {
				return got
			}
			return ""
		})
	}
	w.contract(yubav1.ContractSpec{Version: "1.2.0", Type: baseType})
	b := w.bridge("base-ssm", yubav1.ContractBridgeSpec{Direction: yubav1.BridgeOut, Version: "~> 1.2", Store: ssmStore(ssm, name), Prune: true})
	w.await(b, yubav1.ReasonBridgeWaiting, "network")
	w.publish("1.2.0", `{"vpc_id":"vpc-1","subnets":["a"],"note":null}`, false)
	w.await(b, yubav1.ReasonBridgeSynced, "ssm /configuration/base in eu-central-1 has revision 1 of contract base 1.2.0")
	holds(`{"note":null,"subnets":["a"],"vpc_id":"vpc-1"}`)
	w.publish("1.2.0", `{"vpc_id":"vpc-2","subnets":["a"],"note":null}`, false)
	w.await(b, yubav1.ReasonBridgeSynced, "revision 2")
	holds(`{"note":null,"subnets":["a"],"vpc_id":"vpc-2"}`)

	// The same value in another form is no change.
	ssm.Set(name, "{ \"vpc_id\": \"vpc-2\", \"subnets\": [\"a\"], \"note\": null }\n")
	w.change(b, nothing)
	w.eventually("it was reconciled", func() string {
		_ = w.Get(t.Context(), client.ObjectKeyFromObject(b), b)
		if b.Status.LastHandledReconcileAt != b.Annotations[infrav1.AnnotationReconcile] {
			return "not yet"
		}
		return ""
	})
	w.await(b, yubav1.ReasonBridgeSynced, "revision 2")

	// Somebody changes the document: it stays, and the message says how to go on.
	const theirs = `{"vpc_id":"vpc-emergency"}`
	ssm.Set(name, theirs)
	w.change(b, nothing)
	w.await(b, yubav1.ReasonBridgeConflict, "was changed by somebody else; it is not overwritten")
	w.publish("1.2.0", `{"vpc_id":"vpc-3","subnets":[],"note":null}`, false)
	w.await(b, yubav1.ReasonBridgeConflict, "was changed by somebody else, and there is a new revision")
	holds(theirs)
	digest := regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(b.Status.Conditions[0].Message)
	ssm.Set(name, `{"vpc_id":"vpc-another"}`)
	w.change(b, func(b *yubav1.ContractBridge) { b.Spec.Replace = digest })
	w.await(b, yubav1.ReasonBridgeConflict, "was changed by somebody else")
	holds(`{"vpc_id":"vpc-another"}`)
	ssm.Set(name, theirs)
	w.change(b, nothing)
	w.await(b, yubav1.ReasonBridgeSynced, "revision 3")
	holds(`{"note":null,"subnets":[],"vpc_id":"vpc-3"}`)

	w.tells(w.namespace, yubav1.ReasonBridgeSynced, "has revision 2 of contract base 1.2.0")
	w.tells(w.namespace, yubav1.ReasonBridgeConflict, "was changed by somebody else")
	w.tells(w.namespace, yubav1.ReasonBridgeReplaced, "in ssm /configuration/base in eu-central-1, as spec.replace allows: "+digest, "vpc-emergency")
	w.tells(w.namespace, yubav1.ReasonBridgeRecovered, "has revision 3 of contract base 1.2.0; before it was Conflict")
	w.tells(w.namespace, yubav1.ReasonRevisionPublished, w.namespace+"/network published base 1.2.0, revision 3")
	// A deleted bridge takes its document along.
	if err := w.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	holds("")
}

// TestInFromS3: a document of a stack that is not here is published; what does not fit is not.
func TestInFromS3(t *testing.T) {
	w, s3 := newWorld(t), s3test.New(t, "configurations")
	const key = "configuration/base.json"
	w.contract(yubav1.ContractSpec{Version: "1.2.0", Type: baseType})
	b := w.bridge("network", yubav1.ContractBridgeSpec{Direction: yubav1.BridgeIn, Version: "1.2.0", Store: yubav1.BridgeStore{
		S3: &yubav1.S3Store{Bucket: s3.Bucket, Key: key, Region: s3test.Region, Endpoint: s3.URL}, CredentialsSecret: credentials}})
	w.await(b, yubav1.ReasonBridgeWaiting, "s3 configurations/configuration/base.json does not exist yet")
	consumer := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: infrav1.TerraformSpec{Suspend: true,
		SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "none"},
		Consumes:  []infrav1.Consumption{{Contract: "base", From: infrav1.ProducerReference{Name: "network"}, As: "base"}}}}
	w.create(consumer)
	read := func(path string) string {
		text, _, err := shared.book.Text(t.Context(), contracts.Want{Namespace: w.namespace, Contract: "base",
			Producer: types.NamespacedName{Namespace: w.namespace, Name: "network"}, Version: "~> 1.2"}, path)
		if err != nil {
			return err.Error()
		}
		return text
	}
	reads := func(path, want string) {
		t.Helper()
		w.eventually("consumers read "+want, func() string {
			if got := read(path); !strings.Contains(got, want) {
				return got
			}
			return ""
		})
	}
	s3.Put(t, key, `{"vpc_id":"vpc-1","subnets":["a","b"],"more":{"x":1}}`)
	w.change(b, nothing)
	w.await(b, yubav1.ReasonBridgeSynced, "is revision 1 of contract base 1.2.0")
	reads("", `{"note":null,"subnets":["a","b"],"vpc_id":"vpc-1"}`)
	reads("subnets[1]", "b")
	reads("subnets[2]", "does not exist")
	name := client.ObjectKeyFromObject(consumer)
	w.eventually("the consumer is woken", func() string {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		if shared.woken[name] == 0 {
			return "not yet"
		}
		return ""
	})
	for document, says := range map[string]string{
		`{"subnets":["a"]}`:                "base.vpc_id is missing",
		`{"vpc_id":"v","subnets":"a"}`:     "base.subnets",
		`<html>`:                           "it is not a JSON document",
		`{"vpc_id":"v","subnets":[],"v":`:  "it is not a JSON document",
		`{"vpc_id":null,"subnets":["se"]}`: "base.vpc_id",
	} {
		s3.Put(t, key, document)
		w.change(b, nothing)
		w.await(b, yubav1.ReasonBridgeMisfit, says)
		reads("vpc_id", "vpc-1")
	}
	s3.Put(t, key, `{"vpc_id":"vpc-2","subnets":[]}`)
	w.change(b, nothing)
	w.await(b, yubav1.ReasonBridgeSynced, "is revision 2")
	reads("vpc_id", "vpc-2")
	s3.Remove(t, key)
	w.change(b, nothing)
	w.await(b, yubav1.ReasonBridgeGone, "does not exist any more; consumers keep the last revision")
	reads("vpc_id", "vpc-2")
	if err := w.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	reads("vpc_id", "the stack "+w.namespace+"/network does not exist")
}

// TestToRuntimes: a Secret in another namespace, where the contract grants it; never a ConfigMap with
// private parts; other people's objects stay.
func TestToRuntimes(t *testing.T) {
	w := newWorld(t)
	other := apitest.Namespace(t)
	w.contract(yubav1.ContractSpec{Version: "1.0.0", Type: "object({ host = string, port = number, password = string })", Private: []string{"password"},
		Grants: []yubav1.ContractGrant{{Namespaces: []string{other}}}})
	w.publish("1.0.0", `{"host":"db","port":5432,"password":"hunter2"}`, true)
	from := &yubav1.BridgeProducer{Name: "network", Namespace: w.namespace}
	in := func(namespace, name string, spec yubav1.ContractBridgeSpec) *yubav1.ContractBridge {
		spec.Contract, spec.Direction, spec.From = "base", yubav1.BridgeOut, from
		b := &yubav1.ContractBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
		w.create(b)
		return b
	}
	b := in(other, "database", yubav1.ContractBridgeSpec{Store: yubav1.BridgeStore{Secret: &yubav1.ObjectStore{Name: "database", Attributes: true, Reload: true}}, Prune: true})
	w.await(b, yubav1.ReasonBridgeSynced, "secret "+other+"/database has revision 1")
	if !strings.HasPrefix(b.Status.Synced, "hmac-sha256:") {
		t.Error("a private value has the guessable digest", b.Status.Synced)
	}
	var s corev1.Secret
	key := client.ObjectKey{Namespace: other, Name: "database"}
	if err := w.Get(t.Context(), key, &s); err != nil {
		t.Fatal(err)
	}
	if string(s.Data["password"]) != "hunter2" || string(s.Data["port"]) != "5432" || s.Annotations["reloader.stakater.com/match"] != "true" {
		t.Fatal(s.Data, s.Annotations)
	}
	// A change of the object is noticed at once, and not overwritten.
	s.Data["host"] = []byte("elsewhere")
	if err := w.Update(t.Context(), &s); err != nil {
		t.Fatal(err)
	}
	w.await(b, yubav1.ReasonBridgeConflict, "was changed by somebody else")
	if err := w.Client.Delete(t.Context(), &s); err != nil {
		t.Fatal(err)
	}
	w.await(b, yubav1.ReasonBridgeSynced, "revision 1")
	w.tells(other, yubav1.ReasonBridgeRecovered, "secret "+other+"/database has revision 1", "hunter2", "elsewhere")
	if err := w.Client.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.eventually("the Secret goes with the bridge", func() string {
		if err := w.Get(t.Context(), key, &s); !apierrors.IsNotFound(err) {
			return "it is still there"
		}
		return ""
	})

	c := in(other, "open", yubav1.ContractBridgeSpec{Store: yubav1.BridgeStore{ConfigMap: &yubav1.ObjectStore{Name: "database"}}})
	w.await(c, yubav1.ReasonBridgeInvalid, "private parts, which a ConfigMap does not protect")
	w.change(c, func(b *yubav1.ContractBridge) { b.Spec.Reads = []string{"host", "port"} })
	w.await(c, yubav1.ReasonBridgeSynced, "configmap "+other+"/database")
	var m corev1.ConfigMap
	if err := w.Get(t.Context(), key, &m); err != nil || m.Data["document.json"] != `{"host":"db","port":5432}` {
		t.Fatal(m.Data, err)
	}
	stranger := apitest.Namespace(t)
	d := in(stranger, "database", yubav1.ContractBridgeSpec{Store: yubav1.BridgeStore{Secret: &yubav1.ObjectStore{Name: "database"}}})
	w.await(d, yubav1.ReasonBridgeWaiting, "does not grant namespace "+stranger)
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "theirs"}, Data: map[string][]byte{"a": []byte("b")}})
	e := in(other, "theirs", yubav1.ContractBridgeSpec{Store: yubav1.BridgeStore{Secret: &yubav1.ObjectStore{Name: "theirs"}}})
	w.await(e, yubav1.ReasonBridgeConflict, "exists, and this bridge did not write it")
}

// TestMistakes: each names what to correct, and no value or credential.
func TestMistakes(t *testing.T) {
	w, ssm := newWorld(t), ssmtest.New(t)
	w.contract(yubav1.ContractSpec{Version: "1.2.0", Type: baseType})
	w.publish("1.2.0", `{"vpc_id":"{{x}}","subnets":[],"note":null}`, false)
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "wrong"}, StringData: map[string]string{"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "hunter2"}})
	store := ssmStore(ssm, "/configuration/base")
	with := func(change func(*yubav1.BridgeStore)) yubav1.BridgeStore {
		s := *store.DeepCopy()
		change(&s)
		return s
	}
	for name, test := range map[string]struct {
		spec         yubav1.ContractBridgeSpec
		reason, says string
	}{
		"no-secret":  {yubav1.ContractBridgeSpec{Store: with(func(s *yubav1.BridgeStore) { s.CredentialsSecret.Name = "missing" })}, yubav1.ReasonBridgeInvalid, "the Secret missing of spec.store.credentialsSecret does not exist"},
		"no-ref":     {yubav1.ContractBridgeSpec{Store: with(func(s *yubav1.BridgeStore) { s.CredentialsSecret = nil })}, yubav1.ReasonBridgeInvalid, "credentialsSecret is missing"},
		"wrong-keys": {yubav1.ContractBridgeSpec{Store: with(func(s *yubav1.BridgeStore) { s.CredentialsSecret.Name = "wrong" })}, yubav1.ReasonBridgeUnreachable, "UnrecognizedClientException"},
		"range":      {yubav1.ContractBridgeSpec{Version: "~> x", Store: store}, yubav1.ReasonBridgeInvalid, "spec.version"},
		"path":       {yubav1.ContractBridgeSpec{Reads: []string{"vpc"}, Store: store}, yubav1.ReasonBridgeInvalid, "spec.reads"},
		"refused":    {yubav1.ContractBridgeSpec{Store: store}, yubav1.ReasonBridgeMisfit, "contains {{, which SSM refuses"},
		"undeclared": {yubav1.ContractBridgeSpec{Direction: yubav1.BridgeIn, Version: "2.0.0", Store: store}, yubav1.ReasonBridgeInvalid, "has no version 2.0.0"},
	} {
		if test.spec.Direction == "" {
			test.spec.Direction = yubav1.BridgeOut
		}
		w.await(w.bridge(name, test.spec), test.reason, test.says)
	}
	taken := w.bridge("network", yubav1.ContractBridgeSpec{Direction: yubav1.BridgeIn, Version: "1.2.0", Store: store})
	w.await(taken, yubav1.ReasonBridgeInvalid, "there is a stack of the same name")
	for says, spec := range map[string]yubav1.ContractBridgeSpec{
		"a bridge out needs from":         {Contract: "base", Direction: yubav1.BridgeOut, Store: store},
		"a bridge in needs the version":   {Contract: "base", Direction: yubav1.BridgeIn, Store: store},
		"a bridge has exactly one store":  {Contract: "base", Direction: yubav1.BridgeIn, Version: "1.2.0"},
		"should match '^(/[A-Za-z0-9_.-]": {Contract: "base", Direction: yubav1.BridgeIn, Version: "1.2.0", Store: ssmStore(ssm, "base")},
	} {
		err := w.Create(t.Context(), &yubav1.ContractBridge{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "refused-by-the-api"}, Spec: spec})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
