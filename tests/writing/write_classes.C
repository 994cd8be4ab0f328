// Classes of C++ programs in RNTuples: written, described and read by ROOT.
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleView.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <Math/Vector4D.h>
#include <TClass.h>
#include <TFile.h>
#include <TList.h>
#include <TStreamerElement.h>
#include <TStreamerInfo.h>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

namespace kept {
enum class Color : std::int32_t { kRed = 0, kBlue = 1 };
struct Particle { float pt = 0; float eta = 0; };
struct Charged { int charge = 0; float pt = 0; };
struct Track { std::vector<float> hits; Double32_t chi = 0; int n[3] = {1, 2, 3}; std::set<int> layers; };
struct Muon : public Particle, public Charged {
   std::vector<Track> tracks;
   std::map<int, Track> named;
   Color color = Color::kBlue;
   std::string label;
   std::array<std::array<float, 2>, 2> matrix{};
   std::byte byte{7};
};
class Versioned { public: float x = 0; ClassDefNV(Versioned, 3) };
template <typename T> struct Point { T x = 0; T y = 0; };
// As asked for of a struct: its checksum is that of the members.
struct Plain { float x = 0; std::int32_t y = 0; std::vector<float> hits; };

Muon muon(int i) {
   Muon one;
   one.Particle::pt = i + .5f; one.eta = -i; one.charge = i % 2 ? 1 : -1; one.Charged::pt = i + .25f;
   for (int n = 0; n < i % 3; ++n) {
      Track track;
      track.hits.assign(n + 1, i + n);
      track.chi = i * .125;
      track.layers = {n, i};
      one.tracks.push_back(track);
      one.named[n] = track;
   }
   one.color = i % 2 ? Color::kBlue : Color::kRed;
   one.label = "m" + std::to_string(i);
   one.matrix = {{{float(i), 1}, {2, 3}}};
   return one;
}

using Either = std::variant<std::int32_t, std::map<int, Track>, Muon>;

void write(const char *path, int n) {
   auto model = ROOT::RNTupleModel::Create();
   auto one = model->MakeField<Muon>("one");
   auto all = model->MakeField<std::vector<Muon>>("all");
   auto version = model->MakeField<Versioned>("version");
   model->AddField(ROOT::RFieldBase::Create("narrow", "std::vector<Double32_t>").Unwrap());
   auto number = model->MakeField<double>("number");
   auto momentum = model->MakeField<ROOT::Math::PxPyPzEVector>("momentum");
   auto momenta = model->MakeField<std::vector<ROOT::Math::PtEtaPhiMVector>>("momenta");
   auto pair = model->MakeField<std::pair<int, Point<double>>>("pair");
   auto either = model->MakeField<Either>("either");
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "t", path);
   for (int i = 0; i < n; ++i) {
      *one = muon(i);
      all->clear();
      for (int m = 0; m < i % 4; ++m) all->push_back(muon(i + m));
      version->x = i;
      *number = i;
      momentum->SetPxPyPzE(i, 1, 2, i + 3);
      momenta->assign(i % 3, ROOT::Math::PtEtaPhiMVector(i + 1, .5, .25, 1));
      *pair = {i, {i * .5, i * .25}};
      if (i % 3 == 0) *either = i; else if (i % 3 == 1) *either = muon(i + 1).named; else *either = muon(i);
      writer->Fill();
   }
}

void show(std::ostream &out, const Track &track) {
   out << "[";
   for (float hit : track.hits) out << hit << " ";
   out << track.chi << " " << track.n[0] + track.n[1] + track.n[2];
   for (int layer : track.layers) out << " " << layer;
   out << "]";
}

void show(std::ostream &out, std::int32_t number) { out << number; }

void show(std::ostream &out, const std::map<int, Track> &named) {
   for (const auto &[key, track] : named) { out << key; show(out, track); }
}

void show(std::ostream &out, const Muon &one) {
   out << one.Particle::pt << " " << one.eta << " " << one.charge << " " << one.Charged::pt;
   for (const auto &track : one.tracks) show(out, track);
   show(out, one.named);
   out << int(one.color) << one.label << one.matrix[0][0] << one.matrix[1][1] << int(one.byte) << "\n";
}

// Objects of the dictionaries.
std::string read(const char *path) {
   auto reader = ROOT::RNTupleReader::Open("t", path);
   auto one = reader->GetView<Muon>("one");
   auto all = reader->GetView<std::vector<Muon>>("all");
   auto version = reader->GetView<Versioned>("version");
   auto momentum = reader->GetView<ROOT::Math::PxPyPzEVector>("momentum");
   auto momenta = reader->GetView<std::vector<ROOT::Math::PtEtaPhiMVector>>("momenta");
   auto pair = reader->GetView<std::pair<int, Point<double>>>("pair");
   auto either = reader->GetView<Either>("either");
   std::ostringstream out;
   for (auto i : *reader) {
      show(out, one(i));
      for (const auto &muon : all(i)) show(out, muon);
      out << version(i).x << " " << momentum(i).E() << " " << pair(i).first << " " << pair(i).second.y;
      for (const auto &one : momenta(i)) out << " " << one.Pt() << " " << one.Phi();
      std::visit([&out](const auto &one) { show(out, one); }, either(i));
      out << "\n";
   }
   return out.str();
}

std::string read_plain(const char *path) {
   auto reader = ROOT::RNTupleReader::Open("t", path);
   auto view = reader->GetView<std::vector<Plain>>("v");
   std::ostringstream out;
   for (auto i : *reader) {
      for (const auto &one : view(i)) { out << one.x << " " << one.y; for (float hit : one.hits) out << " " << hit; out << "; "; }
      out << "\n";
   }
   return out.str();
}

unsigned checksum() { return TClass::GetClass("kept::Plain")->GetCheckSum(); }

void field(std::ostream &out, const ROOT::RNTupleDescriptor &of, ROOT::DescriptorId_t id, const std::string &around) {
   for (const auto &one : of.GetFieldIterable(id)) {
      const std::string name = around + one.GetFieldName();
      out << name << "|" << one.GetTypeName() << "|" << one.GetTypeAlias() << "|" << one.GetTypeVersion() << "|"
          << one.GetTypeChecksum().value_or(0) << "|" << int(one.GetStructure()) << "\n";
      field(out, of, one.GetId(), name + ".");
   }
}

// Every field: its path, type, alias, version, checksum and role.
std::string fields(const char *path) {
   auto reader = ROOT::RNTupleReader::Open("t", path);
   std::ostringstream out;
   field(out, reader->GetDescriptor(), reader->GetDescriptor().GetFieldZeroId(), "");
   return out.str();
}

// The classes that the file describes: name, version, checksum, and types of members.
std::string classes(const char *path) {
   std::unique_ptr<TFile> file(TFile::Open(path));
   std::unique_ptr<TList> infos(file->GetStreamerInfoList());
   std::ostringstream out;
   for (auto *object : *infos) {
      auto *info = dynamic_cast<TStreamerInfo *>(object);
      if (!info || std::string(info->GetName()).rfind("kept::", 0)) continue;
      out << info->GetName() << " " << info->GetClassVersion() << " " << info->GetCheckSum();
      for (auto *element : *info->GetElements()) {
         auto *one = static_cast<TStreamerElement *>(element);
         out << " " << one->IsA()->GetName() << ":" << one->GetName() << ":" << one->GetTypeName() << ":" << one->GetType()
             << ":" << one->GetSize() << ":" << one->GetArrayLength();
      }
      out << "\n";
   }
   return out.str();
}
}

#ifdef __CLING__
#pragma link C++ enum kept::Color;
#pragma link C++ class kept::Particle+;
#pragma link C++ class kept::Charged+;
#pragma link C++ class kept::Track+;
#pragma link C++ class kept::Muon+;
#pragma link C++ class kept::Versioned+;
#pragma link C++ class kept::Plain+;
#pragma link C++ class std::map<int,kept::Track>+;
#pragma link C++ class kept::Point<double>+;
#pragma link C++ class std::pair<int,kept::Point<double>>+;
#pragma link C++ namespace kept;
#pragma link C++ function kept::write;
#pragma link C++ function kept::read;
#pragma link C++ function kept::read_plain;
#pragma link C++ function kept::checksum;
#pragma link C++ function kept::fields;
#pragma link C++ function kept::classes;
#endif
