// Vectors of ROOT's classes, alone and in collections. Interpreted: ROOT brings the dictionaries along.
#include <Math/Vector2D.h>
#include <Math/Vector3D.h>
#include <Math/Vector4D.h>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TClonesArray.h>
#include <TFile.h>
#include <TLorentzVector.h>
#include <TTree.h>
#include <TVector2.h>

#include <cstdio>
#include <string>
#include <vector>

namespace ar {

using namespace ROOT::Math;

std::string text(std::initializer_list<double> values) {
  std::string line;
  for (auto value : values) line += Form("%.17g ", value);
  return line;
}

// The numbers that ROOT itself makes of a vector: of momenta pt, eta, phi, E, of others rho, phi and z.
template <class System>
std::string said(const LorentzVector<System> &v) {
  return text({v.Pt(), v.Eta(), v.Phi(), v.E()});
}
template <class System, class Tag>
std::string said(const DisplacementVector3D<System, Tag> &v) {
  return text({v.Rho(), v.Phi(), v.Z()});
}
template <class System, class Tag>
std::string said(const DisplacementVector2D<System, Tag> &v) {
  return text({v.R(), v.Phi()});
}
std::string said(const TLorentzVector &v) { return text({v.Pt(), v.Eta(), v.Phi(), v.E()}); }
std::string said(const TVector3 &v) { return text({v.Perp(), v.Phi(), v.Z()}); }
std::string said(const TVector2 &v) { return text({v.Mod(), TVector2::Phi_mpi_pi(v.Phi())}); }

struct Vectors {
  TLorentzVector lorentz;
  TVector3 three;
  TVector2 two;
  PtEtaPhiMVector ptm;
  PtEtaPhiEVector pte;
  PxPyPzEVector xyze;
  PxPyPzMVector xyzm;
  XYZVector xyz;
  RhoEtaPhiVector rhoeta;
  RhoZPhiVector rhoz;
  XYVector xy;
  Polar2DVector polar;
  std::vector<XYZTVector> many;
  TClonesArray clones{"TLorentzVector"};

  void fill(int k) {
    double pt = 10 + k, eta = 0.5 - 0.1 * k, phi = 1 - 0.3 * k;
    lorentz.SetPtEtaPhiM(pt, eta, phi, 0.5);
    three.SetPtEtaPhi(pt, eta, phi);
    two.Set(pt * cos(phi), pt * sin(phi));
    ptm.SetCoordinates(pt, eta, phi, 0.5);
    pte.SetCoordinates(pt, eta, phi, 100);
    xyze.SetCoordinates(k + 1, 2, 3, 50);
    xyzm.SetCoordinates(k + 1, 2, 3, 0.25);
    xyz.SetXYZ(k + 1, 2, -3);
    rhoeta.SetCoordinates(pt, eta, phi);
    rhoz.SetCoordinates(pt, 2, phi);
    xy.SetXY(k + 1, -2);
    polar.SetCoordinates(pt, phi);
    many.clear();
    clones.Clear();
    for (int i = 0; i < k % 3; i++) {
      many.emplace_back(i + 1, 2, 3, 40);
      new (clones[i]) TLorentzVector(lorentz);
    }
  }

  std::vector<std::string> lines() const {
    std::string inner, cloned;
    for (auto &one : many) inner += said(one);
    for (int i = 0; i < clones.GetEntriesFast(); i++) cloned += said(*static_cast<TLorentzVector *>(clones[i]));
    return {said(lorentz), said(three), said(two), said(ptm), said(pte), said(xyze), said(xyzm), said(xyz),
            said(rhoeta), said(rhoz), said(xy), said(polar), inner, cloned};
  }
};

std::vector<std::string> write(const std::string &name, int n_entries, int split) {
  TFile file(name.c_str(), "RECREATE");
  TTree tree("T", "");
  Vectors v;
  auto *clones = &v.clones;
  tree.Branch("lorentz", &v.lorentz, 4000, 0);
  tree.Branch("three", &v.three, 4000, 0);
  tree.Branch("two", &v.two, 4000, 0);
  tree.Branch("ptm", &v.ptm, 4000, split);
  tree.Branch("pte", &v.pte, 4000, split);
  tree.Branch("xyze", &v.xyze, 4000, split);
  tree.Branch("xyzm", &v.xyzm, 4000, split);
  tree.Branch("xyz", &v.xyz, 4000, split);
  tree.Branch("rhoeta", &v.rhoeta, 4000, split);
  tree.Branch("rhoz", &v.rhoz, 4000, split);
  tree.Branch("xy", &v.xy, 4000, split);
  tree.Branch("polar", &v.polar, 4000, split);
  tree.Branch("many", &v.many, 4000, split);
  tree.Branch("clones", &clones, 4000, split);
  std::vector<std::string> lines;
  for (int k = 0; k < n_entries; k++) {
    v.fill(k);
    tree.Fill();
    for (auto &line : v.lines()) lines.push_back(line);
  }
  tree.Write();
  return lines;
}

std::vector<std::string> write_ntuple(const std::string &name, int n_entries, int) {
  auto model = ROOT::RNTupleModel::Create();
  auto ptm = model->MakeField<PtEtaPhiMVector>("ptm");
  auto xyz = model->MakeField<XYZVector>("xyz");
  auto many = model->MakeField<std::vector<XYZTVector>>("many");
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "T", name);
  Vectors v;
  std::vector<std::string> lines;
  for (int k = 0; k < n_entries; k++) {
    v.fill(k);
    *ptm = v.ptm, *xyz = v.xyz, *many = v.many;
    writer->Fill();
    for (auto &line : v.lines()) lines.push_back(line);
  }
  return lines;
}

}  // namespace ar
