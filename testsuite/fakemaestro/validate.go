package fakemaestro

import (
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateCreate checks a new bundle, object by object; the first bad object decides the text.
func (g Generation) validateCreate(payload jsonMap) error {
	bundle, err := decodeContent(payload)
	if err != nil {
		return fmt.Errorf("failed to decode manifest bundle: %v", err)
	}
	if bundle == nil {
		return fmt.Errorf("manifest bundle is empty")
	}
	for _, manifest := range bundle.manifests {
		if err := validateObject(manifest); err != nil {
			return err
		}
	}
	if g == Loose {
		return refuseDuplicates(bundle.manifests)
	}
	return nil
}

// validateUpdate checks a changed bundle. A strict server wants the same objects in the same order, a loose one
// checks the new bundle as if it were created.
func (g Generation) validateUpdate(next, current jsonMap) error {
	if g == Loose {
		return g.validateCreate(next)
	}
	newBundle, err := decodeContent(next)
	if err != nil {
		return fmt.Errorf("failed to decode new manifest bundle: %v", err)
	}
	if newBundle == nil {
		return fmt.Errorf("new manifest bundle is empty")
	}
	oldBundle, err := decodeContent(current)
	if err != nil {
		return fmt.Errorf("failed to decode old manifest bundle: %v", err)
	}
	if oldBundle == nil {
		return fmt.Errorf("old manifest bundle is empty")
	}
	if len(newBundle.manifests) != len(oldBundle.manifests) {
		return fmt.Errorf("new and old manifest have different number of objects")
	}
	for i := range newBundle.manifests {
		if err := validateSameObject(newBundle.manifests[i], oldBundle.manifests[i]); err != nil {
			return err
		}
	}
	return nil
}

func validateObject(manifest map[string]any) error {
	object := unstructured.Unstructured{Object: manifest}
	meta := field.NewPath("metadata")
	errs := validateAPIVersion(object.GetAPIVersion())
	if object.GetKind() == "" {
		errs = append(errs, field.Required(field.NewPath("kind"), "field not set"))
	}
	if object.GetName() == "" {
		errs = append(errs, field.Required(meta.Child("name"), "field not set"))
	}
	if ns := object.GetNamespace(); ns != "" {
		for _, msg := range apivalidation.ValidateNamespaceName(ns, false) {
			errs = append(errs, field.Invalid(meta.Child("namespace"), ns, msg))
		}
	}
	return aggregate(append(errs, validateMetadata(object)...))
}

func validateSameObject(next, current map[string]any) error {
	newObject, oldObject := unstructured.Unstructured{Object: next}, unstructured.Unstructured{Object: current}
	meta := field.NewPath("metadata")
	var errs field.ErrorList
	for _, pair := range []struct {
		next, current string
		path          *field.Path
	}{
		{newObject.GetAPIVersion(), oldObject.GetAPIVersion(), field.NewPath("apiVersion")},
		{newObject.GetKind(), oldObject.GetKind(), field.NewPath("kind")},
		{newObject.GetName(), oldObject.GetName(), meta.Child("name")},
		{newObject.GetNamespace(), oldObject.GetNamespace(), meta.Child("namespace")},
	} {
		errs = append(errs, apivalidation.ValidateImmutableField(pair.next, pair.current, pair.path)...)
	}
	return aggregate(append(errs, validateMetadata(newObject)...))
}

func refuseDuplicates(manifests []map[string]any) error {
	seen := map[string]bool{}
	for _, manifest := range manifests {
		object := unstructured.Unstructured{Object: manifest}
		key := fmt.Sprintf("%s, kind=%s, namespace=%s, name=%s",
			object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName())
		if seen[key] {
			return fmt.Errorf("duplicate manifest: %s", key)
		}
		seen[key] = true
	}
	return nil
}

func validateAPIVersion(apiVersion string) field.ErrorList {
	path := field.NewPath("apiVersion")
	if apiVersion == "" {
		return field.ErrorList{field.Required(path, "field not set")}
	}
	group, version, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group, version = "", apiVersion
	}
	if strings.Contains(version, "/") {
		return field.ErrorList{field.Invalid(path, apiVersion, "bad format")}
	}
	var errs field.ErrorList
	switch {
	case grouped && group == "":
		errs = append(errs, field.Invalid(path, apiVersion, "group not set"))
	case grouped:
		for _, msg := range validation.IsDNS1123Subdomain(group) {
			errs = append(errs, field.Invalid(path, apiVersion, msg))
		}
	}
	if version == "" {
		return append(errs, field.Invalid(path, apiVersion, "version not set"))
	}
	for _, msg := range validation.IsDNS1035Label(version) {
		errs = append(errs, field.Invalid(path, apiVersion, msg))
	}
	return errs
}

func validateMetadata(object unstructured.Unstructured) field.ErrorList {
	meta := field.NewPath("metadata")
	var errs field.ErrorList
	for _, forbidden := range []struct {
		name string
		set  bool
	}{
		{"generateName", object.GetGenerateName() != ""},
		{"resourceVersion", object.GetResourceVersion() != ""},
		{"deletionGracePeriodSeconds", object.GetDeletionGracePeriodSeconds() != nil},
	} {
		if forbidden.set {
			errs = append(errs, field.Forbidden(meta.Child(forbidden.name), "field cannot be set"))
		}
	}
	errs = append(errs, apivalidation.ValidateAnnotations(object.GetAnnotations(), meta.Child("annotations"))...)
	errs = append(errs, apivalidation.ValidateFinalizers(object.GetFinalizers(), meta.Child("finalizers"))...)
	return append(errs, metavalidation.ValidateLabels(object.GetLabels(), meta.Child("labels"))...)
}

func validateConsumerName(name string) error {
	var errs field.ErrorList
	for _, msg := range apivalidation.ValidateNamespaceName(name, false) {
		errs = append(errs, field.Invalid(field.NewPath("consumer").Child("name"), name, msg))
	}
	return aggregate(errs)
}

func aggregate(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%s", asTheServerSays(errs.ToAggregate().Error()))
}

// asTheServerSays restores the wording of the release of apimachinery that the server is built with: the newer one calls
// the key of an annotation a label key and counts bytes.
func asTheServerSays(text string) string { return olderWording.Replace(text) }

var olderWording = strings.NewReplacer(
	"a valid label key must consist", "a qualified name must consist",
	"must be no more than 63 bytes", "must be no more than 63 characters",
)
